// SPDX-License-Identifier: Apache-2.0
#include "session/remembered_bare.hpp"

#include <algorithm>

#include "cache/hash_cache.hpp"

namespace nb::session {

cache::BareDirectories& RememberedBare::rows() {
  if (!m_rows) m_rows.emplace(m_open(), m_clock);
  return *m_rows;
}

std::optional<cache::BareKey> RememberedBare::key_of(const fs::Directory& directory, const fs::Stat& stat) {
  auto known = m_file_systems.find(stat.device);
  if (known == m_file_systems.end()) {
    known = m_file_systems.emplace(stat.device, directory.attribute_identity()).first;
  }
  if (!known->second) return std::nullopt;
  return cache::BareKey{*known->second, stat.inode};
}

bool RememberedBare::is_bare(const fs::Directory& directory, const fs::Stat& stat, const hash::Digest& files) {
  const auto key = key_of(directory, stat);
  return key && rows().find(*key, files);
}

// An attribute that is set after the file was asked moves its ctime to after `began`, unless the clock of the file
// system stood still meanwhile: so every ctime must be older than that by a margin.
void RememberedBare::record(const fs::Directory& directory, const Finding& finding) {
  const auto settled = [&](const fs::Stat& entry) {
    return entry.type == fs::FileType::directory || cache::is_settled(entry.ctime, entry.ctime, finding.began);
  };
  if (!std::all_of(finding.entries.begin(), finding.entries.end(), settled)) return;
  const auto key = key_of(directory, finding.stat);
  if (key) rows().record(*key, finding.files);
}

}  // namespace nb::session
