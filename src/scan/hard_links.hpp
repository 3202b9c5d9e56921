// SPDX-License-Identifier: Apache-2.0
// HardLinks: which name of an inode came first in protocol order. Both sides fill one while they walk, so that a group
// of hard links has the same name on both. One record for each inode with several links that was met.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/rel_path.hpp"
#include "fs/stat.hpp"

namespace nb::scan {

class HardLinks {
 public:
  // Whether the inode has names beside this one. Directories do not count.
  static bool is_member(const fs::Stat& stat) { return stat.links > 1 && stat.type != fs::FileType::directory; }
  // The first member of the group `stat` belongs to, if that was another path; records `path` as the first otherwise.
  std::optional<RelPath> first_of(const fs::Stat& stat, const RelPath& path);

 private:
  struct Inode {
    std::uint64_t device;
    std::uint64_t inode;
    bool operator==(const Inode&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Inode& key) const { return key.inode * 0x9E3779B97F4A7C15U ^ key.device; }
  };
  std::unordered_map<Inode, RelPath, Hash> m_first;
};

}  // namespace nb::scan
