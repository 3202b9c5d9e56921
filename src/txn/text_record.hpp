// SPDX-License-Identifier: Apache-2.0
// The small text files of a file set (format, head, lock, secret): a title line, "key value" lines in a fixed order,
// and a last line "check " with the XXH3-64 of everything before it in hex. Strict on purpose: a file that differs by
// one byte from what was written is damaged.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace nb::txn {

class TextRecordWriter {
 public:
  explicit TextRecordWriter(std::string_view title);
  // `value` holds no newline.
  void line(std::string_view key, std::string_view value);
  void number(std::string_view key, std::uint64_t value);
  // The whole file, with its check line.
  [[nodiscard]] Bytes finish() const;

 private:
  std::string m_text;
};

class TextRecordReader {
 public:
  // Verifies title and check. `data` outlives the reader. Errors are Errc::bad_set, with the title in their context.
  static Result<TextRecordReader> open(ByteView data, std::string_view title);

  // The value of the next line, which must have this key.
  Result<std::string_view> line(std::string_view key);
  Result<std::uint64_t> number(std::string_view key);
  Result<std::int64_t> signed_number(std::string_view key);
  Result<std::array<std::byte, 16>> id(std::string_view key);
  [[nodiscard]] bool next_is(std::string_view key) const;
  // Error unless every line was read.
  [[nodiscard]] Status finish() const;
  [[nodiscard]] tl::unexpected<Error> bad(std::string_view detail) const;

 private:
  TextRecordReader(std::string_view title, std::vector<std::string_view> lines)
      : m_title(title), m_lines(std::move(lines)) {}
  std::string_view m_title;
  std::vector<std::string_view> m_lines;
  std::size_t m_next = 0;
};

}  // namespace nb::txn
