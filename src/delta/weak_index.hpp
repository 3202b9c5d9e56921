// SPDX-License-Identifier: Apache-2.0
// WeakIndex: where in the basis a block with a given weak sum is. A bitmap in front of the table answers for nearly
// every position of a search, and the table does little work whatever the sums are: chains and lists of equal sums are
// cut off. What is dropped by that is a match not found, never a wrong one.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "delta/block_signature.hpp"
#include "delta/rolling_sum.hpp"

namespace nb::delta {

class WeakIndex {
 public:
  static constexpr std::size_t k_max_candidates = 8;

  struct Candidates {
    std::array<std::uint64_t, k_max_candidates> blocks{};  // numbers in the file
    std::size_t count = 0;
  };

  // Empties it and makes room for blocks [first, first + count); count is below 2^31.
  void reset(std::uint64_t first, std::uint64_t count);
  // A block in that range. One with the sum and (as far as 32 bits tell) the strong digest of an earlier one is left
  // out: any of them serves.
  void add(std::uint64_t number, const BlockSignature& block);
  [[nodiscard]] bool empty() const { return m_used == 0; }

  [[nodiscard]] Candidates find(std::uint64_t weak) const;
  // Rolls `sum`, that of the block at data[0], on by up to `count` bytes, until it may be one of ours; `count` if it
  // never is. Then `sum` is that of the block at the position returned. data[count + k_block_bytes - 1] is readable.
  std::size_t scan(const std::byte* data, std::size_t count, RollingSum& sum) const;
  [[nodiscard]] bool may_have(std::uint64_t weak) const;

 private:
  struct Slot {
    std::uint64_t weak = 0;
    std::uint32_t strong = 0;  // its first 32 bits
    std::uint32_t block = 0;   // number - m_first + 1; 0: empty
  };
  // Spreads a sum over 64 bits, the upper ones best.
  static std::uint64_t spread(std::uint64_t weak) { return (weak ^ weak >> 29) * 0x9E3779B97F4A7C15U; }

  std::vector<Slot> m_slots;
  std::vector<std::uint64_t> m_bitmap;
  unsigned m_slot_shift = 63;
  unsigned m_bit_shift = 63;
  std::uint64_t m_first = 0;
  std::uint64_t m_used = 0;
};

inline bool WeakIndex::may_have(std::uint64_t weak) const {
  const std::uint64_t bit = spread(weak) >> m_bit_shift;
  return (m_bitmap[bit / 64] >> (bit % 64) & 1) != 0;
}

}  // namespace nb::delta
