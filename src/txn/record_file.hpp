// SPDX-License-Identifier: Apache-2.0
// Files of binary records (journal, its spools, stage log). A frame is: payload length (u32), payload, XXH3-64 of the
// payload (u64), payload length again (u32), so that a file can be read from either end with constant memory.
#pragma once

#include <memory>
#include <optional>

#include "base/bytes.hpp"
#include "fs/directory.hpp"

namespace nb::txn {

inline constexpr std::size_t k_max_record_bytes = std::size_t{64} << 20;
inline constexpr std::size_t k_frame_overhead_bytes = 16;

// Appends records through a buffer of 64 KiB. Nothing is written by the destructor.
class RecordWriter {
 public:
  // Appends behind `size` bytes.
  RecordWriter(std::unique_ptr<fs::File> file, std::uint64_t size) : m_file(std::move(file)), m_written(size) {}

  Status append(ByteView payload);
  Status flush();
  Status sync();  // flushes, then fsync
  [[nodiscard]] fs::File& file() { return *m_file; }
  [[nodiscard]] std::uint64_t written() const { return m_written; }  // bytes, without what is buffered

 private:
  std::unique_ptr<fs::File> m_file;
  std::uint64_t m_written;
  Bytes m_buffer;
};

// A position between two records. Errors of content are Errc::bad_set.
class RecordCursor {
 public:
  // `file` outlives the cursor. Reads within [begin, end).
  RecordCursor(fs::File& file, std::uint64_t begin, std::uint64_t end)
      : m_file(file), m_begin(begin), m_end(end), m_at(begin) {}

  // The record after the position, which moves past it; nothing at the end. The view holds until the next call.
  Result<std::optional<ByteView>> next();
  // The same of a file that ends with a footer: its end is Errc::bad_set, "<what>: no footer".
  Result<ByteView> next_of(std::string_view what);
  // The record before the position, which moves in front of it; nothing at the beginning.
  Result<std::optional<ByteView>> previous();
  void to_end() { m_at = m_end; }
  [[nodiscard]] std::uint64_t at() const { return m_at; }
  [[nodiscard]] std::uint64_t check() const { return m_check; }  // of the record read last

 private:
  enum class Toward : std::uint8_t { end, begin };
  Result<ByteView> bytes(std::uint64_t offset, std::size_t count, Toward toward);
  Result<ByteView> frame(std::uint64_t offset, std::size_t payload_bytes, Toward toward);
  Status load(std::uint64_t offset, std::size_t count);

  fs::File& m_file;
  std::uint64_t m_begin;
  std::uint64_t m_end;
  std::uint64_t m_at;
  std::uint64_t m_check = 0;
  std::uint64_t m_window_offset = 0;
  Bytes m_window;
};

}  // namespace nb::txn
