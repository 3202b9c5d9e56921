// SPDX-License-Identifier: Apache-2.0
#include "session/mount_point.hpp"

#include <optional>

#include "fs/path_root.hpp"
#include "fs/posix_directory.hpp"

namespace nb::session {
namespace {

Result<fs::Stat> stat_at_path(const std::string& path) {
  NB_TRY_ASSIGN(const fs::PathRoot anywhere, fs::PathRoot::open(std::nullopt));
  return anywhere.stat(path);
}

// Opened, and not only looked at, so that an automounter mounts it. Who may not read it may still look.
Result<fs::Stat> stat_mounted(const std::string& path) {
  const auto directory = fs::open_user_directory(path);
  return directory ? (*directory)->stat() : stat_at_path(path);
}

// Earlier versions remembered every directory on another device than its parent: btrfs subvolumes, which are mounted
// nowhere, and before Linux 5.8 mounts, of which the kernel tells nothing else.
bool is_on_other_device(const std::string& path, const fs::Stat& stat) {
  const auto above = stat_at_path(path + "/..");
  return above && above->device != stat.device;
}

}  // namespace

bool is_mount_point(const std::string& path) {
  const auto stat = stat_mounted(path);
  return stat && stat->mount_root;
}

bool has_lost_mount(const std::string& path) {
  const auto stat = stat_mounted(path);
  const bool is_plain = stat && stat->type == fs::FileType::directory && !stat->mount_root;
  return is_plain && !is_on_other_device(path, *stat);
}

}  // namespace nb::session
