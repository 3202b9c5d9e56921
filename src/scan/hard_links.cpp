// SPDX-License-Identifier: Apache-2.0
#include "scan/hard_links.hpp"

namespace nb::scan {
namespace {

// What a record takes: the node of the map with its share of the buckets and the allocator's headers, and the path
// where the string does not hold it itself.
std::size_t memory_of(const RelPath& path) {
  constexpr std::size_t k_node_bytes = sizeof(InodeKey) + sizeof(RelPath) + 6 * sizeof(void*);
  constexpr std::size_t k_in_string_bytes = 15;
  return k_node_bytes + (path.str().size() > k_in_string_bytes ? path.str().size() + 2 * sizeof(void*) : 0);
}

}  // namespace

Result<std::optional<RelPath>> HardLinks::first_of(const fs::Stat& stat, const RelPath& path) {
  if (!is_member(stat)) return std::nullopt;
  const auto seconds = static_cast<std::uint64_t>(stat.ctime.sec);
  const InodeKey key{stat.device, stat.inode, seconds * 1'000'000'000U + stat.ctime.nsec};
  std::optional<RelPath> first;
  if (const auto found = m_first.find(key); found != m_first.end()) {
    first = found->second;
  } else if (m_spilled) {
    NB_TRY_ASSIGN(first, m_spilled->find(key));
  }
  // A directory that is read twice meets its own record again.
  if (first) return *first == path ? std::nullopt : first;
  m_first.emplace(key, path);
  m_bytes += memory_of(path);
  if (m_bytes > m_limit_bytes && m_may_spill) spill();
  return std::nullopt;
}

// All goes at once: what is met next is more likely new, or was met just now, than anything else. A record stays in
// memory until it is in the file for certain.
void HardLinks::spill() {
  if (!m_spilled) {
    auto made = LinkFile::make();
    if (made) m_spilled.emplace(std::move(*made));
  }
  m_may_spill = m_spilled.has_value();
  for (auto it = m_first.begin(); it != m_first.end() && m_may_spill;) {
    m_may_spill = m_spilled->add(it->first, it->second).has_value();
    if (!m_may_spill) break;
    m_bytes -= memory_of(it->second);
    it = m_first.erase(it);
  }
}

}  // namespace nb::scan
