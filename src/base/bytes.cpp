// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.hpp"

#include <bit>
#include <cstring>

namespace nb {

static_assert(std::endian::native == std::endian::little, "fixed integers are written as they lie in memory");

ByteView as_bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::string_view as_text(ByteView bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void ByteWriter::u8(std::uint8_t value) { m_out.push_back(static_cast<std::byte>(value)); }
void ByteWriter::u32(std::uint32_t value) { raw(std::as_bytes(std::span(&value, 1))); }
void ByteWriter::u64(std::uint64_t value) { raw(std::as_bytes(std::span(&value, 1))); }

void ByteWriter::varint(std::uint64_t value) {
  while (value >= 0x80) {
    u8(static_cast<std::uint8_t>(value | 0x80));
    value >>= 7;
  }
  u8(static_cast<std::uint8_t>(value));
}

void ByteWriter::svarint(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  varint((bits << 1) ^ (value < 0 ? ~std::uint64_t{0} : 0));
}

void ByteWriter::raw(ByteView bytes) { m_out.insert(m_out.end(), bytes.begin(), bytes.end()); }
void ByteWriter::string(std::string_view text) { blob(as_bytes(text)); }

void ByteWriter::blob(ByteView bytes) {
  varint(bytes.size());
  raw(bytes);
}

tl::unexpected<Error> ByteReader::bad(std::string_view detail) const {
  return fail(m_code, std::string(m_what) + ": " + std::string(detail));
}

Result<ByteView> ByteReader::raw(std::size_t count) {
  if (count > m_data.size()) return bad("truncated");
  const ByteView head = m_data.first(count);
  m_data = m_data.subspan(count);
  return head;
}

Result<std::uint8_t> ByteReader::u8() {
  NB_TRY_ASSIGN(const ByteView b, raw(1));
  return static_cast<std::uint8_t>(b[0]);
}

Result<std::uint32_t> ByteReader::u32() {
  NB_TRY_ASSIGN(const ByteView b, raw(4));
  std::uint32_t value = 0;
  std::memcpy(&value, b.data(), 4);
  return value;
}

Result<std::uint64_t> ByteReader::u64() {
  NB_TRY_ASSIGN(const ByteView b, raw(8));
  std::uint64_t value = 0;
  std::memcpy(&value, b.data(), 8);
  return value;
}

// Called several times for every file: one pass over the bytes, no call for each.
Result<std::uint64_t> ByteReader::varint() {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < m_data.size() && i < 10; ++i) {
    const auto b = static_cast<std::uint8_t>(m_data[i]);
    // The tenth byte has room for one bit only.
    if (i == 9 && b > 1) break;
    value |= static_cast<std::uint64_t>(b & 0x7F) << (7 * i);
    if ((b & 0x80) != 0) continue;
    m_data = m_data.subspan(i + 1);
    return value;
  }
  return bad(m_data.size() < 10 ? "truncated" : "integer too long");
}

Result<std::uint64_t> ByteReader::varint(std::uint64_t max) {
  NB_TRY_ASSIGN(const std::uint64_t value, varint());
  if (value > max) return bad("value out of range");
  return value;
}

Result<std::int64_t> ByteReader::svarint() {
  NB_TRY_ASSIGN(const std::uint64_t bits, varint());
  return static_cast<std::int64_t>((bits >> 1) ^ (~(bits & 1) + 1));
}

Result<ByteView> ByteReader::blob(std::size_t max_bytes) {
  NB_TRY_ASSIGN(const std::uint64_t size, varint(max_bytes));
  return raw(static_cast<std::size_t>(size));
}

Result<std::string> ByteReader::string(std::size_t max_bytes) {
  NB_TRY_ASSIGN(const ByteView bytes, blob(max_bytes));
  return std::string(as_text(bytes));
}

}  // namespace nb
