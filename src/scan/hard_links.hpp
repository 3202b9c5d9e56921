// SPDX-License-Identifier: Apache-2.0
// HardLinks: which name of an inode came first in protocol order. Both sides fill one while they walk, so that a group
// of hard links has the same name on both. One record for each inode with several links that was met; what goes beyond
// a limit lies in a temporary file (scan/link_file.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/rel_path.hpp"
#include "fs/stat.hpp"
#include "scan/link_file.hpp"

namespace nb::scan {

inline constexpr std::size_t k_hard_link_bytes = std::size_t{64} << 20;

class HardLinks {
 public:
  // `limit_bytes`: of records in memory, as near as can be told; beside them a LinkFile has its index, once there is
  // one. Where no temporary file can be made or written, memory grows beyond it.
  explicit HardLinks(std::size_t limit_bytes = k_hard_link_bytes) : m_limit_bytes(limit_bytes) {}

  // Whether the inode has names beside this one. Directories do not count.
  static bool is_member(const fs::Stat& stat) { return stat.links > 1 && stat.type != fs::FileType::directory; }
  // The first member of the group `stat` belongs to, if that was another path; records `path` as the first otherwise.
  // An error: the temporary file cannot be read.
  Result<std::optional<RelPath>> first_of(const fs::Stat& stat, const RelPath& path);

 private:
  struct Hash {
    std::size_t operator()(const InodeKey& key) const { return key.inode * 0x9E3779B97F4A7C15U ^ key.device; }
  };
  void spill();

  const std::size_t m_limit_bytes;
  std::unordered_map<InodeKey, RelPath, Hash> m_first;
  std::size_t m_bytes = 0;  // of m_first
  std::optional<LinkFile> m_spilled;
  bool m_may_spill = true;
};

}  // namespace nb::scan
