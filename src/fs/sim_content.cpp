// SPDX-License-Identifier: Apache-2.0
#include "fs/sim_content.hpp"

#include <algorithm>

namespace nb::fs::sim {
namespace {

std::uint64_t block_of(std::uint64_t offset) { return offset / k_block_bytes; }

// The part of [offset, end) that lies in offset's block.
std::size_t piece(std::uint64_t offset, std::uint64_t end) {
  const std::uint64_t block_end = (block_of(offset) + 1) * k_block_bytes;
  return static_cast<std::size_t>(std::min(end, block_end) - offset);
}

}  // namespace

std::size_t Content::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset >= m_size) return 0;
  const std::uint64_t end = offset + std::min<std::uint64_t>(out.size(), m_size - offset);
  std::uint64_t at = offset;
  while (at < end) {
    const std::size_t count = piece(at, end);
    std::byte* to = out.data() + (at - offset);
    const auto block = m_blocks.find(block_of(at));
    if (block == m_blocks.end()) {
      std::fill_n(to, count, std::byte{0});
    } else {
      std::copy_n(block->second->begin() + static_cast<std::ptrdiff_t>(at % k_block_bytes), count, to);
    }
    at += count;
  }
  return static_cast<std::size_t>(end - offset);
}

std::uint64_t Content::missing_blocks(Extent range) const {
  if (range.length == 0) return 0;
  std::uint64_t missing = 0;
  for (std::uint64_t b = block_of(range.offset); b <= block_of(range.offset + range.length - 1); ++b) {
    if (!m_blocks.contains(b)) ++missing;
  }
  return missing;
}

Content::Block& Content::writable_block(std::uint64_t number) {
  std::shared_ptr<const Block>& slot = m_blocks[number];
  // Always a new one: others may share the old.
  auto fresh = slot ? std::make_shared<Block>(*slot) : std::make_shared<Block>();
  if (!slot) fresh->fill(std::byte{0});
  slot = fresh;
  return *fresh;
}

void Content::put(std::uint64_t offset, ByteView data) {
  const std::uint64_t end = offset + data.size();
  while (offset < end) {
    const std::size_t count = piece(offset, end);
    Block& block = writable_block(block_of(offset));
    std::copy_n(data.begin(), count, block.begin() + static_cast<std::ptrdiff_t>(offset % k_block_bytes));
    data = data.subspan(count);
    offset += count;
  }
}

void Content::write(std::uint64_t offset, ByteView data, BlockSet& changed) {
  if (data.empty()) return;
  put(offset, data);
  const std::uint64_t end = offset + data.size();
  for (std::uint64_t b = block_of(offset); b <= block_of(end - 1); ++b) changed.insert(b);
  m_size = std::max(m_size, end);
}

void Content::resize(std::uint64_t size, BlockSet& changed) {
  if (size < m_size) {
    const std::uint64_t keep = (size + k_block_bytes - 1) / k_block_bytes;
    m_blocks.erase(m_blocks.lower_bound(keep), m_blocks.end());
    // What is cut off in the last block must read as zeros if the file grows again.
    const std::uint64_t used = size % k_block_bytes;
    if (used != 0 && m_blocks.contains(block_of(size))) {
      Block& block = writable_block(block_of(size));
      std::fill(block.begin() + static_cast<std::ptrdiff_t>(used), block.end(), std::byte{0});
      changed.insert(block_of(size));
    }
  }
  m_size = size;
}

void Content::erase(std::uint64_t first, std::uint64_t after_last, BlockSet& changed) {
  const auto from = m_blocks.lower_bound(first);
  const auto to = m_blocks.lower_bound(after_last);
  for (auto block = from; block != to; ++block) changed.insert(block->first);
  m_blocks.erase(from, to);
}

void Content::clone(const Content& from, Extent range, std::uint64_t offset, BlockSet& changed) {
  const std::uint64_t count = (range.length + k_block_bytes - 1) / k_block_bytes;
  const std::uint64_t source = block_of(range.offset);
  // Taken first: `from` may be this one.
  std::map<std::uint64_t, std::shared_ptr<const Block>> taken(from.m_blocks.lower_bound(source),
                                                              from.m_blocks.lower_bound(source + count));
  erase(block_of(offset), block_of(offset) + count, changed);
  for (auto& [number, block] : taken) {
    const std::uint64_t to = number - source + block_of(offset);
    m_blocks[to] = std::move(block);
    changed.insert(to);
  }
  m_size = std::max(m_size, offset + range.length);
}

// Zeros in a part of one block, if there is such a block.
void Content::zero_in_block(std::uint64_t begin, std::uint64_t end, BlockSet& changed) {
  if (begin >= end || !m_blocks.contains(block_of(begin))) return;
  Block& block = writable_block(block_of(begin));
  const auto at = block.begin() + static_cast<std::ptrdiff_t>(begin % k_block_bytes);
  std::fill_n(at, end - begin, std::byte{0});
  changed.insert(block_of(begin));
}

void Content::punch(Extent range, BlockSet& changed) {
  const std::uint64_t end = range.offset + range.length;
  const std::uint64_t first_whole = (range.offset + k_block_bytes - 1) / k_block_bytes;
  const std::uint64_t after_whole = block_of(end);
  if (after_whole < first_whole) return zero_in_block(range.offset, end, changed);
  zero_in_block(range.offset, first_whole * k_block_bytes, changed);
  erase(first_whole, after_whole, changed);
  zero_in_block(after_whole * k_block_bytes, end, changed);
}

std::uint64_t Content::blocks_in(Extent range) const {
  const std::uint64_t after = (range.offset + range.length + k_block_bytes - 1) / k_block_bytes;
  return static_cast<std::uint64_t>(
      std::distance(m_blocks.lower_bound(block_of(range.offset)), m_blocks.lower_bound(after)));
}

std::optional<Extent> Content::next_data(std::uint64_t offset) const {
  auto block = m_blocks.lower_bound(block_of(offset));
  if (block == m_blocks.end() || offset >= m_size) return std::nullopt;
  const std::uint64_t begin = std::max(offset, block->first * k_block_bytes);
  std::uint64_t after = block->first + 1;
  for (++block; block != m_blocks.end() && block->first == after; ++block) ++after;
  return Extent{begin, std::min(after * k_block_bytes, m_size) - begin};
}

Content Content::with_blocks_of(const Content& old, const BlockSet& lost) const {
  Content result = *this;
  for (const std::uint64_t number : lost) {
    const auto old_block = old.m_blocks.find(number);
    if (number * k_block_bytes >= m_size || old_block == old.m_blocks.end()) {
      result.m_blocks.erase(number);
    } else {
      result.m_blocks[number] = old_block->second;
    }
  }
  return result;
}

Content Content::torn(std::uint64_t length, const Content& old) const {
  Content result = old;
  BlockSet ignored;
  result.resize(m_size, ignored);
  Block buffer;
  for (std::uint64_t at = 0; at < length; at += k_block_bytes) {
    if (!m_blocks.contains(block_of(at))) {
      result.m_blocks.erase(block_of(at));
      continue;
    }
    const std::size_t count = piece(at, length);
    const std::size_t got = read(at, std::span(buffer).first(count));
    result.put(at, ByteView(buffer).first(got));
  }
  return result;
}

Content Content::zeros() const {
  Content result;
  result.m_size = m_size;
  return result;
}

}  // namespace nb::fs::sim
