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
// written back: that takes the kernel half a minute, or some minutes on a laptop that spares its disk. Whoever opens the
// file later takes a fault at its first store, which moves ctime.
WallTime RememberedDigests::begin(const fs::Node& file, const fs::Stat& stat) {
  constexpr std::chrono::minutes k_longest_writeback{15};
  const WallTime now = m_clock.wall();
  const auto settled = std::chrono::floor<std::chrono::seconds>(now - k_longest_writeback);
  const bool is_young = stat.ctime.sec > settled.time_since_epoch().count();
  return is_young && file_system(file, stat) && file.may_have_writer() ? WallTime{} : now;
}

void RememberedDigests::record(const fs::Node& near, const Reading& reading, const hash::Secret& secret) {
  const auto key = key_of(near, reading.stat, secret);
  if (key) m_cache.record(*key, reading.digest, reading.began);
}

}  // namespace nb::cli
