// SPDX-License-Identifier: Apache-2.0
#include "scan/bare_memory.hpp"

namespace nb::scan {
namespace {

// Looking up a row may cost as much as asking this many files.
constexpr std::size_t k_fewest_files = 8;
constexpr std::size_t k_usual_bytes = 64;  // of an entry

}  // namespace

std::optional<hash::Digest> fingerprint_of(const fs::Stat& directory, const Looked& entries) {
  Bytes bytes;
  bytes.reserve(entries.names.size() * k_usual_bytes);
  ByteWriter out(bytes);
  std::size_t files = 0;
  for (std::size_t i = 0; i < entries.names.size(); ++i) {
    const fs::Stat& stat = entries.stats[i];
    if (stat.type == fs::FileType::directory) continue;
    if (stat.mount_root || !fs::same_mount(stat, directory)) return std::nullopt;
    out.string(entries.names[i].name);
    out.u64(stat.inode);
    out.u64(static_cast<std::uint64_t>(stat.ctime.sec));
    out.u32(stat.ctime.nsec);
    ++files;
  }
  if (files < k_fewest_files) return std::nullopt;
  return hash::fingerprint_of(bytes);
}

}  // namespace nb::scan
