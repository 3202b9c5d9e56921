// SPDX-License-Identifier: Apache-2.0
// Content: what a simulated file holds, as blocks with holes between them. Copies share blocks. Internal to src/fs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "base/bytes.hpp"
#include "fs/stat.hpp"

namespace nb::fs::sim {

inline constexpr std::uint64_t k_block_bytes = 4096;

class Content {
 public:
  using BlockSet = std::set<std::uint64_t>;

  [[nodiscard]] std::uint64_t size() const { return m_size; }
  [[nodiscard]] std::uint64_t blocks() const { return m_blocks.size(); }
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;
  // Blocks that a write of this range would have to allocate.
  [[nodiscard]] std::uint64_t missing_blocks(Extent range) const;
  // Both add the numbers of the blocks they change to `changed`.
  void write(std::uint64_t offset, ByteView data, BlockSet& changed);
  void resize(std::uint64_t size, BlockSet& changed);
  // `range` of `from`, which may be this one, put at `offset`, both at block boundaries; blocks are shared.
  void clone(const Content& from, Extent range, std::uint64_t offset, BlockSet& changed);
  // The range reads as zeros; whole blocks of it are gone.
  void punch(Extent range, BlockSet& changed);
  [[nodiscard]] std::uint64_t blocks_in(Extent range) const;
  [[nodiscard]] std::optional<Extent> next_data(std::uint64_t offset) const;

  // This content with the blocks of `lost` as `old` has them.
  [[nodiscard]] Content with_blocks_of(const Content& old, const BlockSet& lost) const;
  // This many bytes of this content, then what `old` has; as long as this one.
  [[nodiscard]] Content torn(std::uint64_t length, const Content& old) const;
  // As long as this one, all zeros.
  [[nodiscard]] Content zeros() const;

 private:
  using Block = std::array<std::byte, k_block_bytes>;
  Block& writable_block(std::uint64_t number);
  void put(std::uint64_t offset, ByteView data);
  void erase(std::uint64_t first, std::uint64_t after_last, BlockSet& changed);
  void zero_in_block(std::uint64_t begin, std::uint64_t end, BlockSet& changed);

  std::uint64_t m_size = 0;
  std::map<std::uint64_t, std::shared_ptr<const Block>> m_blocks;
};

}  // namespace nb::fs::sim
