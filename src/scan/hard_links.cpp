// SPDX-License-Identifier: Apache-2.0
#include "scan/hard_links.hpp"

namespace nb::scan {

std::optional<RelPath> HardLinks::first_of(const fs::Stat& stat, const RelPath& path) {
  if (!is_member(stat)) return std::nullopt;
  const auto [it, is_first] = m_first.try_emplace(Inode{stat.device, stat.inode}, path);
  // A directory that is read twice meets its own record again.
  if (is_first || it->second == path) return std::nullopt;
  return it->second;
}

}  // namespace nb::scan
