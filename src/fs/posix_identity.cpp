// SPDX-License-Identifier: Apache-2.0
// The UUID where the kernel tells it (6.9 and later), else f_fsid, which ext4, btrfs and others make from the UUID; on
// btrfs the subvolume too, since each has inode numbers of its own. File systems that are not in the table are shared
// with other machines, keep times roughly, or make up inode numbers: nothing may be concluded from a stat there.
#include "fs/posix_identity.hpp"

#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"
#include "base/text.hpp"

namespace nb::fs::posix {
namespace {

// Some are missing from linux/magic.h of older systems.
constexpr std::uint64_t k_xfs_magic = 0x58465342;
constexpr std::uint64_t k_f2fs_magic = 0xf2f52010;
constexpr std::uint64_t k_zfs_magic = 0x2fc12fc1;
constexpr std::uint64_t k_bcachefs_magic = 0xca451a4e;
constexpr std::uint64_t k_btrfs_magic = BTRFS_SUPER_MAGIC;
// Not tmpfs, where a store into mapped memory moves no time.
constexpr std::array<std::uint64_t, 6> k_known_kinds{EXT4_SUPER_MAGIC, k_btrfs_magic, k_xfs_magic,
                                                     k_f2fs_magic,     k_zfs_magic,   k_bcachefs_magic};

// Where setting and removing an attribute or an ACL moves ctime (tests/unit/fs checks it). Not tmpfs, where older
// kernels left it alone; the others were not looked at.
constexpr std::array<std::uint64_t, 3> k_attributes_move_ctime{EXT4_SUPER_MAGIC, k_btrfs_magic, k_xfs_magic};

template <std::size_t Count>
bool is_one_of(const std::array<std::uint64_t, Count>& kinds, std::uint64_t kind) {
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

// linux/fs.h of kernel 6.9.
struct Uuid {
  std::uint8_t length;
  std::array<std::uint8_t, 16> bytes;
};
constexpr unsigned long k_get_uuid = _IOR(0x15, 0, Uuid);

std::optional<std::string> uuid_of(int fd) {
  Uuid uuid{};
  if (::ioctl(fd, k_get_uuid, &uuid) != 0 || uuid.length == 0 || uuid.length > uuid.bytes.size()) return std::nullopt;
  return "uuid:" + to_hex(std::as_bytes(std::span(uuid.bytes).first(uuid.length)));
}

std::optional<std::string> fsid_of(const struct statfs& info) {
  std::uint64_t id = 0;
  static_assert(sizeof info.f_fsid == sizeof id);
  std::memcpy(&id, &info.f_fsid, sizeof id);
  if (id == 0) return std::nullopt;
  const auto kind = static_cast<std::uint64_t>(info.f_type);
  return "fsid:" + std::to_string(kind) + ":" + std::to_string(id);
}

std::optional<std::string> subvolume_of(int fd) {
  btrfs_ioctl_ino_lookup_args lookup{};
  lookup.objectid = BTRFS_FIRST_FREE_OBJECTID;  // with this one, no privilege is needed
  if (::ioctl(fd, BTRFS_IOC_INO_LOOKUP, &lookup) != 0) return std::nullopt;
  return "/" + std::to_string(lookup.treeid);
}

// Whether the mount shows attributes of this kind: with noacl and, on older kernels, nouser_xattr it does not, and a
// later mount would show them without a ctime having moved.
bool is_shown(int fd, const char* name) { return ::fgetxattr(fd, name, nullptr, 0) >= 0 || errno == ENODATA; }

// Only who has CAP_SYS_ADMIN in the first user namespace is shown trusted.*; the number of that namespace is the
// kernel's PROC_USER_INIT_INO. Nothing if it cannot be found out.
std::optional<char> sight() {
  constexpr std::uint64_t k_first_user_namespace = 0xEFFFFFFD;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
  if (::syscall(SYS_capget, &header, sets.data()) != 0) return std::nullopt;
  if ((sets[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) == 0) return 'u';
  struct stat space {};
  if (::stat("/proc/self/ns/user", &space) != 0) return std::nullopt;
  return space.st_ino == k_first_user_namespace ? 'a' : 'u';
}

}  // namespace

std::optional<std::string> attribute_identity(int fd) {
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return std::nullopt;
  if (!is_one_of(k_attributes_move_ctime, static_cast<std::uint64_t>(info.f_type))) return std::nullopt;
  if (!is_shown(fd, "system.posix_acl_access") || !is_shown(fd, "user.nbackup.mtime")) return std::nullopt;
  const auto seen = sight();
  auto identity = file_system_identity(fd);
  if (!seen || !identity) return std::nullopt;
  return *identity + "+" + *seen;
}

std::optional<std::string> file_system_identity(int fd) {
  struct statfs info {};
  if (::fstatfs(fd, &info) != 0) return std::nullopt;
  const auto kind = static_cast<std::uint64_t>(info.f_type);
  if (!is_one_of(k_known_kinds, kind)) return std::nullopt;
  const auto uuid = uuid_of(fd);
  if (!uuid) return fsid_of(info);
  if (kind != k_btrfs_magic) return uuid;
  const auto subvolume = subvolume_of(fd);
  return subvolume ? std::optional(*uuid + *subvolume) : std::nullopt;
}

bool folds_case(int fd) {
  int flags = 0;
  return ::ioctl(fd, FS_IOC_GETFLAGS, &flags) == 0 && (static_cast<unsigned>(flags) & FS_CASEFOLD_FL) != 0;
}

}  // namespace nb::fs::posix
