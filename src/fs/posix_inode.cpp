// SPDX-License-Identifier: Apache-2.0
// statx, chown, chmod and utimensat on descriptors of either kind.
#include "fs/posix_inode.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "base/assert.hpp"

namespace nb::fs::posix {
namespace {

constexpr std::uint32_t k_mode_bits = 07777;
constexpr std::uint32_t k_no_id = 0xffffffffU;  // chown(2) takes it for "leave alone"

Timestamp timestamp(const statx_timestamp& time) { return {time.tv_sec, time.tv_nsec}; }

Stat to_stat(const struct statx& raw, FileType type) {
  Stat stat;
  stat.type = type;
  stat.mode = raw.stx_mode & k_mode_bits;
  stat.owner = {raw.stx_uid, raw.stx_gid};
  stat.size = type == FileType::regular ? raw.stx_size : 0;
  stat.allocated_bytes = raw.stx_blocks * 512;  // its unit, whatever the file system's blocks are
  stat.mtime = timestamp(raw.stx_mtime);
  stat.ctime = timestamp(raw.stx_ctime);
  stat.device = ::makedev(raw.stx_dev_major, raw.stx_dev_minor);
  if ((raw.stx_mask & STATX_MNT_ID) != 0) stat.mount = raw.stx_mnt_id;
  stat.inode = raw.stx_ino;
  if ((raw.stx_mask & STATX_BTIME) != 0) stat.born = timestamp(raw.stx_btime);
  stat.links = raw.stx_nlink;
  if (type == FileType::char_device || type == FileType::block_device) {
    stat.node = {raw.stx_rdev_major, raw.stx_rdev_minor};
  }
  stat.immutable = (raw.stx_attributes & (STATX_ATTR_IMMUTABLE | STATX_ATTR_APPEND)) != 0;
  stat.mount_root = (raw.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  return stat;
}

// A path_only call through /proc: there ENOENT never speaks of the file, which we hold open.
tl::unexpected<Error> fail_proc(const char* operation) {
  if (errno == ENOENT) return fail(Errc::unsupported, std::string(operation) + ": /proc is not mounted", ENOENT);
  return fail_errno(operation);
}

}  // namespace

CName::CName(std::string_view name) {
  NB_ASSERT(is_safe_name(name));
  *std::copy(name.begin(), name.end(), m_text.begin()) = '\0';
}

std::string proc_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

std::string proc_path(int fd, const CName& name) { return proc_path(fd) + "/" + name.c_str(); }

Result<std::string> path_of(int fd) {
  std::array<char, PATH_MAX> text{};
  const ssize_t length = ::readlink(proc_path(fd).c_str(), text.data(), text.size());
  if (length < 0) return fail_proc("path of a directory");
  const std::string path(text.data(), static_cast<std::size_t>(length));
  if (path.empty() || path.front() != '/') return fail(Errc::path, "path of a directory: " + path);
  return path;
}

std::string context(std::string_view operation, std::string_view name) {
  std::string text(operation);
  if (!name.empty()) text.append(": ").append(name);
  return text;
}

tl::unexpected<Error> fail_typed(std::string context, int sys_errno) {
  if (sys_errno == ENOTDIR || sys_errno == EISDIR) return fail(Errc::path, std::move(context), sys_errno);
  return fail_errno(std::move(context), sys_errno);
}

std::optional<FileType> type_from_mode(std::uint32_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG: return FileType::regular;
    case S_IFDIR: return FileType::directory;
    case S_IFLNK: return FileType::symlink;
    case S_IFIFO: return FileType::fifo;
    case S_IFSOCK: return FileType::socket;
    case S_IFCHR: return FileType::char_device;
    case S_IFBLK: return FileType::block_device;
    default: return std::nullopt;
  }
}

Result<Stat> stat_name(int fd, const char* name) {
  struct statx raw {};
  constexpr int k_flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_EMPTY_PATH;
  constexpr unsigned k_wanted = STATX_BASIC_STATS | STATX_BTIME | STATX_MNT_ID;
  if (::statx(fd, name, k_flags, k_wanted, &raw) != 0) return fail_errno(context("stat", name));
  const std::optional<FileType> type = type_from_mode(raw.stx_mode);
  if (!type) return fail(Errc::unsupported, context("stat: unknown file type", name));
  return to_stat(raw, *type);
}

Status set_owner(Inode inode, Owner owner) {
  if (owner.uid == k_no_id || owner.gid == k_no_id) return fail(Errc::unsupported, "chown: no such id", EINVAL);
  if (::fchownat(inode.fd, "", owner.uid, owner.gid, AT_EMPTY_PATH) != 0) return fail_errno("chown");
  return {};
}

Status set_mode(Inode inode, std::uint32_t mode) {
  NB_ASSERT((mode & ~k_mode_bits) == 0);
  if (inode.access == Access::full) {
    if (::fchmod(inode.fd, mode) != 0) return fail_errno("chmod");
    return {};
  }
  // Some kernels change a symlink's mode and report a failure afterwards: do not even ask.
  NB_TRY_ASSIGN(const Stat stat, stat_name(inode.fd, ""));
  if (stat.type == FileType::symlink) return fail(Errc::unsupported, "chmod of a symlink", EOPNOTSUPP);
  if (::chmod(proc_path(inode.fd).c_str(), mode) != 0) return fail_proc("chmod");
  return {};
}

Status set_mtime(Inode inode, Timestamp mtime) {
  NB_ASSERT(mtime.nsec < 1'000'000'000);
  // Not UTIME_OMIT for atime: file systems on libfuse 2 then do nothing, and say that it was done.
  const std::array<timespec, 2> times{timespec{0, UTIME_NOW},
                                      timespec{mtime.sec, static_cast<decltype(timespec::tv_nsec)>(mtime.nsec)}};
  if (inode.access == Access::full) {
    if (::futimens(inode.fd, times.data()) != 0) return fail_errno("utimensat");
    return {};
  }
  if (::utimensat(inode.fd, "", times.data(), AT_EMPTY_PATH) == 0) return {};
  if (errno != EINVAL) return fail_errno("utimensat");
  // Kernels before 5.8 do not take AT_EMPTY_PATH here.
  if (::utimensat(AT_FDCWD, proc_path(inode.fd).c_str(), times.data(), 0) != 0) return fail_proc("utimensat");
  return {};
}

}  // namespace nb::fs::posix
