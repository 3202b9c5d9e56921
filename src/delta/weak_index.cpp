// SPDX-License-Identifier: Apache-2.0
#include "delta/weak_index.hpp"

#include <bit>
#include <cstring>

#include "base/assert.hpp"

namespace nb::delta {
namespace {

constexpr std::size_t k_max_chain = 32;         // slots looked at for one sum
constexpr std::uint64_t k_bits_per_block = 32;  // about 3 % of foreign sums pass the bitmap

std::uint32_t head_of(const hash::Digest& digest) {
  std::uint32_t head = 0;
  std::memcpy(&head, digest.bytes.data(), sizeof head);
  return head;
}

}  // namespace

void WeakIndex::reset(std::uint64_t first, std::uint64_t count) {
  NB_ASSERT(count < std::uint64_t{1} << 31);
  const std::uint64_t slots = std::bit_ceil(std::max<std::uint64_t>(2 * count, 2));
  const std::uint64_t bits = std::bit_ceil(std::max<std::uint64_t>(k_bits_per_block * count, 64));
  m_slots.assign(slots, {});
  m_bitmap.assign(bits / 64, 0);
  m_slot_shift = 64 - static_cast<unsigned>(std::bit_width(slots - 1));
  m_bit_shift = 64 - static_cast<unsigned>(std::bit_width(bits - 1));
  m_first = first;
  m_used = 0;
}

void WeakIndex::add(std::uint64_t number, const BlockSignature& block) {
  const std::uint64_t place = spread(block.weak);
  const std::uint32_t strong = head_of(block.strong);
  std::size_t equal = 0;
  for (std::size_t step = 0; step < k_max_chain; ++step) {
    Slot& slot = m_slots[((place >> m_slot_shift) + step) & (m_slots.size() - 1)];
    if (slot.block == 0) {
      slot = {block.weak, strong, static_cast<std::uint32_t>(number - m_first + 1)};
      const std::uint64_t bit = place >> m_bit_shift;
      m_bitmap[bit / 64] |= std::uint64_t{1} << (bit % 64);
      ++m_used;
      return;
    }
    if (slot.weak != block.weak) continue;
    if (slot.strong == strong || ++equal == k_max_candidates) return;
  }
}

WeakIndex::Candidates WeakIndex::find(std::uint64_t weak) const {
  Candidates found;
  const std::uint64_t place = spread(weak) >> m_slot_shift;
  for (std::size_t step = 0; step < k_max_chain && found.count < k_max_candidates; ++step) {
    const Slot& slot = m_slots[(place + step) & (m_slots.size() - 1)];
    if (slot.block == 0) break;
    if (slot.weak == weak) found.blocks[found.count++] = m_first + slot.block - 1;
  }
  return found;
}

std::size_t WeakIndex::scan(const std::byte* data, std::size_t count, RollingSum& sum) const {
  RollingSum now = sum;
  std::size_t i = 0;
  for (; i < count; ++i) {
    if (may_have(now.value()) && find(now.value()).count > 0) break;
    now.roll(data[i], data[i + k_block_bytes]);
  }
  sum = now;
  return i;
}

}  // namespace nb::delta
