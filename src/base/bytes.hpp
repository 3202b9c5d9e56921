// SPDX-License-Identifier: Apache-2.0
// ByteWriter and ByteReader: the one encoding of everything nbackup puts on the wire or on disk.
// Integers are unsigned LEB128 (signed ones zigzag first, as in Protocol Buffers' encoding document) or fixed
// little-endian; byte strings carry their length first. A reader never trusts a length: it is checked against what is
// left and against the caller's limit before anything is allocated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace nb {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

ByteView as_bytes(std::string_view text);
std::string_view as_text(ByteView bytes);

class ByteWriter {
 public:
  // Appends to `out`, which outlives the writer.
  explicit ByteWriter(Bytes& out) : m_out(out) {}

  void u8(std::uint8_t value);
  void u32(std::uint32_t value);  // fixed, little-endian
  void u64(std::uint64_t value);  // fixed, little-endian
  void varint(std::uint64_t value);
  void svarint(std::int64_t value);
  void raw(ByteView bytes);
  void string(std::string_view text);  // varint length, bytes
  void blob(ByteView bytes);           // the same for bytes
  [[nodiscard]] std::size_t size() const { return m_out.size(); }

 private:
  Bytes& m_out;
};

class ByteReader {
 public:
  // `data` outlives the reader and everything it returns as a view. Errors are coded `error_code` with `what` in their
  // context, so that a frame blames the peer and a journal blames the disk.
  ByteReader(ByteView data, Errc error_code, std::string_view what) : m_data(data), m_code(error_code), m_what(what) {}

  Result<std::uint8_t> u8();
  Result<std::uint32_t> u32();
  Result<std::uint64_t> u64();
  Result<std::uint64_t> varint();                   // rejects encodings over 10 bytes or over 64 bits
  Result<std::uint64_t> varint(std::uint64_t max);  // and values over max
  Result<std::int64_t> svarint();
  Result<ByteView> raw(std::size_t count);
  Result<std::string> string(std::size_t max_bytes);
  Result<ByteView> blob(std::size_t max_bytes);
  [[nodiscard]] std::size_t left() const { return m_data.size(); }
  [[nodiscard]] bool at_end() const { return m_data.empty(); }
  // The error this reader would return, for a caller's own checks.
  [[nodiscard]] tl::unexpected<Error> bad(std::string_view detail) const;

 private:
  ByteView m_data;
  Errc m_code;
  std::string_view m_what;
};

}  // namespace nb
