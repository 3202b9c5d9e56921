// SPDX-License-Identifier: Apache-2.0
// The changing half of PosixDirectory: creating, linking, renaming and removing names, and making them durable.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <limits>

#include "base/assert.hpp"
#include "fs/posix_directory.hpp"
#include "fs/posix_file.hpp"
#include "fs/posix_handle.hpp"

namespace nb::fs::posix {
namespace {

constexpr mode_t k_node_mode = 0600;
constexpr mode_t k_directory_mode = 0700;
constexpr std::uint64_t k_f2fs_magic = 0xF2F52010;
constexpr std::uint64_t k_xfs_magic = 0x58465342;
constexpr unsigned k_syncfs_reports_major = 5;
constexpr unsigned k_syncfs_reports_minor = 8;

std::string context_pair(std::string_view operation, std::string_view from, std::string_view to) {
  return context(operation, from).append(" -> ").append(to);
}

// umask, a default ACL or a set-group-id parent may have changed what was asked for. Returns what was made.
Result<Stat> settle_mode(Inode inode, std::uint32_t wanted) {
  NB_TRY_ASSIGN(Stat stat, stat_name(inode.fd, ""));
  if (stat.mode == wanted) return stat;
  NB_TRY(set_mode(inode, wanted));
  stat.mode = wanted;
  return stat;
}

// The same through an O_PATH descriptor, for what cannot be opened otherwise.
Status settle_mode_at(int fd, const char* name, std::uint32_t wanted) {
  const Fd node(::openat(fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!node.valid()) return fail_errno(context("open", name));
  NB_TRY(settle_mode({node.get(), Access::path_only}, wanted));
  return {};
}

mode_t type_bits(FileType type) {
  switch (type) {
    case FileType::fifo: return S_IFIFO;
    case FileType::socket: return S_IFSOCK;
    case FileType::char_device: return S_IFCHR;
    case FileType::block_device: return S_IFBLK;
    default: break;
  }
  const bool is_special_type = false;
  NB_ASSERT(is_special_type);
  return 0;
}

struct Move {
  int from_fd;
  const char* from;
  int to_fd;
  const char* to;
};

bool is_second_name(const struct stat& from, const Move& move) {
  struct stat raw {};
  const bool is_same = ::fstatat(move.to_fd, move.to, &raw, AT_SYMLINK_NOFOLLOW) == 0 && raw.st_dev == from.st_dev &&
                       raw.st_ino == from.st_ino;
  errno = EEXIST;
  return is_same;
}

// After the new name was made: a failure leaves the old one alone.
int drop_old_name(const Move& move) {
  if (::unlinkat(move.from_fd, move.from, 0) == 0) return 0;
  const int error = errno;
  static_cast<void>(::unlinkat(move.to_fd, move.to, 0));
  errno = error;
  return -1;
}

// rename without replacing on a file system that has no RENAME_NOREPLACE. A link cannot replace anything; directories
// cannot be linked, but a directory only ever replaces an empty one, so that the race left here destroys no content.
// 0 or -1 with errno set.
int rename_to_free_name(const Move& move) {
  struct stat raw {};
  if (::fstatat(move.from_fd, move.from, &raw, AT_SYMLINK_NOFOLLOW) != 0) return -1;
  if (!S_ISDIR(raw.st_mode)) {
    if (::linkat(move.from_fd, move.from, move.to_fd, move.to, 0) == 0) return drop_old_name(move);
    // Cut off between the two, or the server's answer to the first was lost: both names are there.
    if (errno == EEXIST && is_second_name(raw, move)) return ::unlinkat(move.from_fd, move.from, 0);
    // Without hard links (FAT) only the look-then-rename below is left.
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) return -1;
  }
  if (::fstatat(move.to_fd, move.to, &raw, AT_SYMLINK_NOFOLLOW) == 0) {
    errno = EEXIST;
    return -1;
  }
  if (errno != ENOENT) return -1;
  return ::renameat(move.from_fd, move.from, move.to_fd, move.to);
}

bool kernel_reports_syncfs_errors() {
  utsname name{};
  unsigned major = 0;
  unsigned minor = 0;
  if (::uname(&name) != 0 || std::sscanf(name.release, "%u.%u", &major, &minor) != 2) return false;
  return major > k_syncfs_reports_major || (major == k_syncfs_reports_major && minor >= k_syncfs_reports_minor);
}

}  // namespace

const PosixDirectory& as_posix(const Directory& directory) {
  const auto* posix = dynamic_cast<const PosixDirectory*>(&directory);
  NB_ASSERT(posix != nullptr);
  return *posix;
}

Result<std::unique_ptr<File>> PosixDirectory::create_file(std::string_view name, std::uint32_t mode) {
  const CName c_name(name);
  Fd made(::openat(fd(), c_name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, mode));
  if (!made.valid()) return fail_errno(context("create", name));
  Result<Stat> settled = settle_mode({made.get(), Access::full}, mode);
  if (!settled) {
    static_cast<void>(::unlinkat(fd(), c_name.c_str(), 0));
    return wrap(std::move(settled).error(), context("create", name));
  }
  return std::make_unique<PosixFile>(std::move(made), *settled);
}

Result<std::unique_ptr<Directory>> PosixDirectory::create_directory(std::string_view name) {
  const CName c_name(name);
  if (::mkdirat(fd(), c_name.c_str(), k_directory_mode) != 0) return fail_errno(context("mkdir", name));
  Fd made = open_directory_at(fd(), c_name.c_str());
  if (!made.valid() && errno == EACCES && settle_mode_at(fd(), c_name.c_str(), k_directory_mode)) {
    made = open_directory_at(fd(), c_name.c_str());
  }
  if (!made.valid()) {
    const int error = errno;
    static_cast<void>(::unlinkat(fd(), c_name.c_str(), AT_REMOVEDIR));
    return fail_typed(context("mkdir", name), error);
  }
  if (Result<Stat> settled = settle_mode({made.get(), Access::full}, k_directory_mode); !settled) {
    static_cast<void>(::unlinkat(fd(), c_name.c_str(), AT_REMOVEDIR));
    return wrap(std::move(settled).error(), context("mkdir", name));
  }
  return std::make_unique<PosixDirectory>(std::move(made));
}

Status PosixDirectory::create_symlink(std::string_view name, const std::string& target) {
  if (target.find('\0') != std::string::npos) return fail(Errc::path, context("symlink", name), EINVAL);
  if (::symlinkat(target.c_str(), fd(), CName(name).c_str()) == 0) return {};
  // An empty target answers ENOENT, which would read as a missing directory.
  if (target.empty()) return fail(Errc::path, context("symlink: empty target", name), EINVAL);
  return fail_errno(context("symlink", name));
}

Status PosixDirectory::create_node(std::string_view name, FileType type, DeviceNumber number) {
  const CName c_name(name);
  const dev_t device = ::makedev(number.major, number.minor);
  if (::mknodat(fd(), c_name.c_str(), type_bits(type) | k_node_mode, device) != 0) {
    return fail_errno(context("mknod", name));
  }
  Status settled = settle_mode_at(fd(), c_name.c_str(), k_node_mode);
  if (settled) return {};
  static_cast<void>(::unlinkat(fd(), c_name.c_str(), 0));
  return wrap(std::move(settled).error(), context("mknod", name));
}

Status PosixDirectory::link(std::string_view name, Directory& to, std::string_view new_name) {
  if (::linkat(fd(), CName(name).c_str(), as_posix(to).descriptor(), CName(new_name).c_str(), 0) != 0) {
    return fail_errno(context_pair("link", name, new_name));
  }
  return {};
}

Status PosixDirectory::rename(std::string_view name, Directory& to, std::string_view new_name, RenameMode mode) {
  const CName from(name);
  const CName target(new_name);
  const Move move{fd(), from.c_str(), as_posix(to).descriptor(), target.c_str()};
  int result = 0;
  if (mode == RenameMode::replace) {
    result = ::renameat(move.from_fd, move.from, move.to_fd, move.to);
  } else {
    result = ::renameat2(move.from_fd, move.from, move.to_fd, move.to, RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS)) result = rename_to_free_name(move);
  }
  if (result != 0) return fail_typed(context_pair("rename", name, new_name), errno);
  return {};
}

Status PosixDirectory::remove_file(std::string_view name) {
  if (::unlinkat(fd(), CName(name).c_str(), 0) != 0) return fail_typed(context("remove", name), errno);
  return {};
}

Status PosixDirectory::remove_directory(std::string_view name) {
  if (::unlinkat(fd(), CName(name).c_str(), AT_REMOVEDIR) != 0) {
    // POSIX lets a file system answer EEXIST for one that is not empty.
    const int error = errno == EEXIST ? ENOTEMPTY : errno;
    return fail_typed(context("remove directory", name), error);
  }
  return {};
}

Status PosixDirectory::sync() {
  if (::fsync(fd()) != 0) return fail_errno("fsync of a directory");
  return {};
}

Status PosixDirectory::sync_file_system() {
  if (::syncfs(fd()) != 0) return fail_errno("syncfs");
  return {};
}

bool PosixDirectory::sync_file_system_reports() const {
  struct statfs raw {};
  if (::fstatfs(fd(), &raw) != 0) return false;
  switch (static_cast<std::uint64_t>(raw.f_type)) {
    case EXT4_SUPER_MAGIC:  // ext2 and ext3 have the same number
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case k_xfs_magic:
    case k_f2fs_magic: return kernel_reports_syncfs_errors();
    default: return false;
  }
}

Result<Space> PosixDirectory::space() const { return space_of(fd()); }

bool PosixDirectory::writable() const { return ::faccessat(fd(), ".", W_OK | X_OK, AT_EACCESS) == 0; }

}  // namespace nb::fs::posix

namespace nb::fs {

Result<Space> space_of(int fd) {
  struct statvfs raw {};
  if (::fstatvfs(fd, &raw) != 0) return fail_errno("statvfs");
  if (raw.f_blocks == 0) {  // ramfs, and FUSE file systems that do not answer: only writing tells
    constexpr auto k_any = std::numeric_limits<std::uint64_t>::max();
    return Space{k_any, 0, k_any};
  }
  Space space;
  space.free_bytes = static_cast<std::uint64_t>(raw.f_bavail) * raw.f_frsize;
  space.total_bytes = static_cast<std::uint64_t>(raw.f_blocks) * raw.f_frsize;
  // btrfs makes inodes as it needs them and counts none.
  space.free_inodes = raw.f_files == 0 ? std::numeric_limits<std::uint64_t>::max() : raw.f_favail;
  return space;
}

}  // namespace nb::fs
