// SPDX-License-Identifier: Apache-2.0
#include "cli/remembered_digests.hpp"

#include "cache/upkeep.hpp"

namespace nb::cli {

RememberedDigests::~RememberedDigests() {
  m_cache.flush();
  cache::tend(*m_store, m_clock.wall());
}

std::optional<std::string> RememberedDigests::file_system(const fs::Node& near, const fs::Stat& stat) {
  const std::lock_guard lock(m_mutex);
  const auto known = m_file_systems.find(stat.device);
  if (known != m_file_systems.end()) return known->second;
  const auto around = near.stat();
  if (!around || around->device != stat.device) return std::nullopt;
  return m_file_systems.emplace(stat.device, near.file_system_identity()).first->second;
}

std::optional<cache::DigestKey> RememberedDigests::key_of(const fs::Node& near, const fs::Stat& stat,
                                                          const hash::Secret& secret) {
  auto where = file_system(near, stat);
  if (!where) return std::nullopt;
  return cache::DigestKey{std::move(*where), secret.id(), stat.inode, stat.size, stat.mtime, stat.ctime};
}

std::optional<hash::Digest> RememberedDigests::find(const fs::Node& near, const fs::Stat& stat,
                                                    const hash::Secret& secret) {
  if (m_belief == Belief::nothing) return std::nullopt;
  const auto key = key_of(near, stat, secret);
  return key ? m_cache.find(*key) : std::nullopt;
}

// A page that a program has mapped and stored into takes more of its stores, without ctime moving, until it has been
// written back: that takes the kernel half a minute, so whose ctime is older has no such page.
bool RememberedDigests::may_change_unseen(const fs::Node& near, const Reading& reading) {
  constexpr std::chrono::seconds k_longest_writeback{120};
  const auto began = std::chrono::floor<std::chrono::seconds>(reading.began - k_longest_writeback);
  return reading.stat.ctime.sec > began.time_since_epoch().count() && near.may_have_writer();
}

void RememberedDigests::record(const fs::Node& near, const Reading& reading, const hash::Secret& secret) {
  if (may_change_unseen(near, reading)) return;
  const auto key = key_of(near, reading.stat, secret);
  if (key) m_cache.record(*key, reading.digest, reading.began);
}

}  // namespace nb::cli
