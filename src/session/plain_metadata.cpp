// SPDX-License-Identifier: Apache-2.0
#include "session/plain_metadata.hpp"

#include <unistd.h>

namespace nb::session {
namespace {

constexpr std::uint32_t k_permission_bits = 0777;
constexpr std::int64_t k_end_of_common_seconds = std::int64_t{1} << 31;
// Some file systems count time in units of 100 ns.
constexpr std::uint32_t k_coarsest_suspect_nsec = 100;

// Set-id bits may be refused in silence, an ACL changes the mode, odd times may be cut off: each has to be looked at.
bool is_plain(const fs::Metadata& meta) {
  const bool is_readable = (meta.mode & 0400U) != 0 || ::geteuid() == 0;
  return meta.xattrs.empty() && meta.mode <= k_permission_bits && is_readable && meta.mtime.sec >= 0 &&
         meta.mtime.sec < k_end_of_common_seconds;
}

}  // namespace

bool PlainMetadata::is_proven(const fs::Metadata& meta, Owner owner) const {
  return m_exact_times && m_exact_modes.test(meta.mode) && (m_exact_owners || owner == Owner::as_made);
}

bool PlainMetadata::prove(const fs::File& file, const fs::Metadata& meta, Owner owner) {
  const auto now = file.stat();
  if (!now || now->mode != meta.mode || now->mtime != meta.mtime || now->owner != meta.owner) return false;
  m_exact_modes.set(meta.mode);
  m_exact_times |= meta.mtime.nsec % k_coarsest_suspect_nsec != 0;
  m_exact_owners |= owner == Owner::given;
  return true;
}

bool PlainMetadata::give(fs::File& file, const fs::Stat& made, const fs::Metadata& meta) {
  if (!is_plain(meta)) return false;
  const Owner owner = meta.owner == made.owner ? Owner::as_made : Owner::given;
  if (owner == Owner::given && !file.set_owner(meta.owner)) return false;
  if (meta.mode != made.mode && !file.set_mode(meta.mode)) return false;
  if (!file.set_mtime(meta.mtime)) return false;
  return is_proven(meta, owner) || prove(file, meta, owner);
}

}  // namespace nb::session
