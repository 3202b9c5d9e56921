// SPDX-License-Identifier: Apache-2.0
// RollingSum: the weak checksum of a block, which moves on by one byte in a few instructions. It is the pair of sums of
// Adler's and Fletcher's checksums with 32 bits each and no modulus: the sum of the bytes, and the sum of all its
// intermediate values. It only says where the strong digest is worth computing. Its low half is 0 exactly if all bytes
// are 0, since 64 KiB of bytes cannot add up to 2^32.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"
#include "hash/file_hasher.hpp"

namespace nb::delta {

class RollingSum {
 public:
  RollingSum() = default;
  // Of up to a block of bytes.
  static RollingSum of(ByteView bytes);

  [[nodiscard]] std::uint64_t value() const { return (std::uint64_t{m_sums} << 32) | m_bytes; }
  // The window of one whole block moves on: `out` leaves it at the front, `in` enters at the end.
  void roll(std::byte out, std::byte in) {
    const auto leaving = std::to_integer<std::uint32_t>(out);
    m_bytes += std::to_integer<std::uint32_t>(in) - leaving;
    m_sums += m_bytes - static_cast<std::uint32_t>(hash::k_block_bytes) * leaving;
  }

 private:
  std::uint32_t m_bytes = 0;
  std::uint32_t m_sums = 0;
};

namespace sums {

inline constexpr std::size_t k_columns = 32;
inline constexpr std::size_t k_rows = 16;  // of a tile: the sums of so many bytes, at most 255 * 136, fit into 16 bits
using Columns = std::array<std::uint32_t, k_columns>;

// The next tile: rows of bytes, one after the other.
inline void add_tile(const std::byte* at, Columns& plain, Columns& nested) {
  std::array<std::uint16_t, k_columns> bytes{};
  std::array<std::uint16_t, k_columns> sums{};
  for (std::size_t row = 0; row < k_rows; ++row, at += k_columns) {
    for (std::size_t j = 0; j < k_columns; ++j) {
      bytes[j] = static_cast<std::uint16_t>(bytes[j] + std::to_integer<std::uint16_t>(at[j]));
      sums[j] = static_cast<std::uint16_t>(sums[j] + bytes[j]);
    }
  }
  for (std::size_t j = 0; j < k_columns; ++j) {
    nested[j] += static_cast<std::uint32_t>(k_rows) * plain[j] + sums[j];
    plain[j] += bytes[j];
  }
}

}  // namespace sums

// Bytes are taken in columns of narrow numbers, so that compilers make vectors of the loop: byte i of n counts n - i
// times, which for i = 32 k + j of a column j is 32 (n/32 - k) - j.
inline RollingSum RollingSum::of(ByteView bytes) {
  sums::Columns plain{};
  sums::Columns nested{};
  constexpr std::size_t k_tile = sums::k_columns * sums::k_rows;
  const std::size_t tiles = bytes.size() / k_tile;
  for (std::size_t i = 0; i < tiles; ++i) sums::add_tile(bytes.data() + i * k_tile, plain, nested);
  RollingSum sum;
  for (std::uint32_t j = 0; j < sums::k_columns; ++j) {
    sum.m_bytes += plain[j];
    sum.m_sums += static_cast<std::uint32_t>(sums::k_columns) * nested[j] - j * plain[j];
  }
  for (const std::byte b : bytes.subspan(tiles * k_tile)) {
    sum.m_bytes += std::to_integer<std::uint32_t>(b);
    sum.m_sums += sum.m_bytes;
  }
  return sum;
}

}  // namespace nb::delta
