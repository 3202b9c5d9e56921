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

// Bytes are taken in columns, so that compilers make vectors of the loop: byte i of n counts n - i times, which for
// i = 16 k + j of a column j is 16 (n/16 - k) - j.
inline RollingSum RollingSum::of(ByteView bytes) {
  constexpr std::size_t k_columns = 16;
  std::array<std::uint32_t, k_columns> plain{};
  std::array<std::uint32_t, k_columns> nested{};
  const std::size_t rows = bytes.size() / k_columns;
  const std::byte* at = bytes.data();
  for (std::size_t row = 0; row < rows; ++row, at += k_columns) {
    for (std::size_t j = 0; j < k_columns; ++j) {
      plain[j] += std::to_integer<std::uint32_t>(at[j]);
      nested[j] += plain[j];
    }
  }
  RollingSum sum;
  for (std::uint32_t j = 0; j < k_columns; ++j) {
    sum.m_bytes += plain[j];
    sum.m_sums += static_cast<std::uint32_t>(k_columns) * nested[j] - j * plain[j];
  }
  for (const std::byte b : bytes.subspan(rows * k_columns)) {
    sum.m_bytes += std::to_integer<std::uint32_t>(b);
    sum.m_sums += sum.m_bytes;
  }
  return sum;
}

}  // namespace nb::delta
