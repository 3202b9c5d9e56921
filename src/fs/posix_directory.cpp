// SPDX-License-Identifier: Apache-2.0
// The reading half of PosixDirectory: opening, listing, looking at names. posix_names.cpp has the changing half.
#include "fs/posix_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/text.hpp"
#include "fs/posix_file.hpp"
#include "fs/posix_handle.hpp"

namespace nb::fs {
namespace posix {
namespace {

constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
constexpr std::size_t k_list_buffer_bytes = 64 * 1024;

Fd open_beneath(int fd, const char* path, int extra_flags) {
  open_how how{};
  how.flags = static_cast<__u64>(k_directory_flags | extra_flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS;
  return Fd(static_cast<int>(::syscall(SYS_openat2, fd, path, &how, sizeof how)));
}

// The same without openat2: each component by itself, none of them a symlink.
Result<Fd> walk_beneath(int fd, const RelPath& path) {
  Fd at;
  for (const std::string_view component : split(path.str(), '/')) {
    Fd next = open_directory_at(at.valid() ? at.get() : fd, CName(component).c_str());
    if (!next.valid()) return fail_typed(context("open directory", path.str()), errno);
    at = std::move(next);
  }
  return at;
}

// EPERM stands for a seccomp filter that does not know openat2, as older containers have; after O_NOATIME is gone.
bool is_openat2_missing(int error) { return error == ENOSYS || error == EPERM; }

bool is_dot_or_dot_dot(const char* name) {
  return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

std::optional<FileType> type_from_dirent(std::uint32_t type) { return type_from_mode(DTTOIF(type)); }

// Adds one entry; a name whose type is not in the listing and which is gone by now is left out.
Status add_entry(int fd, const dirent64& entry, Directory::Names& out) {
  if (is_dot_or_dot_dot(entry.d_name)) return {};
  if (std::strlen(entry.d_name) > k_max_name_bytes) {
    out.too_long.emplace_back(entry.d_name);
    return {};
  }
  if (!is_safe_name(entry.d_name)) return fail(Errc::io, context("list: impossible name", entry.d_name), EIO);
  std::optional<FileType> type = type_from_dirent(entry.d_type);
  if (!type) {
    const Result<Stat> stat = stat_name(fd, entry.d_name);
    if (!stat && stat.error().code == Errc::not_found) return {};
    // Whoever looks at it meets that error; the other names are none the worse for it.
    type = stat ? stat->type : FileType::regular;
  }
  out.usable.push_back({entry.d_name, *type});
  return {};
}

Status add_entries(int fd, ByteView buffer, Directory::Names& out) {
  while (!buffer.empty()) {
    const auto* entry = reinterpret_cast<const dirent64*>(buffer.data());
    NB_TRY(add_entry(fd, *entry, out));
    buffer = buffer.subspan(entry->d_reclen);
  }
  return {};
}

}  // namespace

Fd open_directory_at(int fd, const char* name) {
  Fd opened(::openat(fd, name, k_directory_flags | O_NOATIME));
  if (!opened.valid() && errno == EPERM) opened = Fd(::openat(fd, name, k_directory_flags));
  return opened;
}

Result<std::unique_ptr<Directory>> PosixDirectory::reopen() const {
  Fd opened = open_directory_at(fd(), ".");
  if (!opened.valid()) return fail_errno("reopen directory");
  return std::make_unique<PosixDirectory>(std::move(opened));
}

// Reads through our own descriptor from its start: no second open, and no need for search permission.
Result<std::vector<NamedType>> PosixDirectory::list() const {
  NB_TRY_ASSIGN(Names names, list_all());
  if (names.too_long.empty()) return std::move(names.usable);
  return fail(Errc::io, context("list: impossible name", names.too_long.front()), ENAMETOOLONG);
}

Result<Directory::Names> PosixDirectory::list_all() const {
  if (::lseek(fd(), 0, SEEK_SET) != 0) return fail_errno("list");
  // As dirent64 wants to be aligned.
  const std::unique_ptr<std::uint64_t[]> buffer(new std::uint64_t[k_list_buffer_bytes / sizeof(std::uint64_t)]);
  Names read;
  while (true) {
    const ssize_t got = ::getdents64(fd(), buffer.get(), k_list_buffer_bytes);
    if (got < 0) return fail_errno("list");
    if (got == 0) break;
    const auto* bytes = reinterpret_cast<const std::byte*>(buffer.get());
    NB_TRY(add_entries(fd(), ByteView(bytes, static_cast<std::size_t>(got)), read));
  }
  std::vector<NamedType>& names = read.usable;
  std::sort(names.begin(), names.end(), [](const NamedType& a, const NamedType& b) { return a.name < b.name; });
  // Where names come and go meanwhile some file systems give one twice.
  const auto is_same = [](const NamedType& a, const NamedType& b) { return a.name == b.name; };
  names.erase(std::unique(names.begin(), names.end(), is_same), names.end());
  return read;
}

Result<Stat> PosixDirectory::stat_at(std::string_view name) const { return stat_name(fd(), CName(name).c_str()); }

Result<Xattrs> PosixDirectory::xattrs_at(std::string_view name) const { return read_xattrs_at(fd(), name); }

Result<std::string> PosixDirectory::read_link(std::string_view name) const {
  // A target is at most PATH_MAX - 1 bytes, so a full buffer means a file system that breaks the rule.
  std::array<char, PATH_MAX> target;
  const ssize_t got = ::readlinkat(fd(), CName(name).c_str(), target.data(), target.size());
  if (got < 0) {
    if (errno == EINVAL) return fail(Errc::path, context("readlink: not a symlink", name), EINVAL);
    return fail_errno(context("readlink", name));
  }
  if (static_cast<std::size_t>(got) == target.size()) return fail(Errc::io, context("readlink", name), ENAMETOOLONG);
  return std::string(target.data(), static_cast<std::size_t>(got));
}

Result<std::unique_ptr<Node>> PosixDirectory::open_node(std::string_view name) const {
  Fd opened(::openat(fd(), CName(name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!opened.valid()) return fail_errno(context("open", name));
  return std::make_unique<PathNode>(std::move(opened));
}

Result<std::unique_ptr<File>> PosixDirectory::open_file(std::string_view name, OpenMode mode) const {
  return open_file_at(fd(), name, mode);
}

Result<std::unique_ptr<Directory>> PosixDirectory::open_directory(std::string_view name) const {
  Fd opened = open_directory_at(fd(), CName(name).c_str());
  if (!opened.valid()) return fail_typed(context("open directory", name), errno);
  return std::make_unique<PosixDirectory>(std::move(opened));
}

Result<std::unique_ptr<Directory>> PosixDirectory::open_directory_path(const RelPath& path) const {
  if (path.is_root()) return reopen();
  Fd opened = open_beneath(fd(), path.str().c_str(), O_NOATIME);
  if (!opened.valid() && errno == EPERM) opened = open_beneath(fd(), path.str().c_str(), 0);
  if (!opened.valid()) {
    if (!is_openat2_missing(errno)) return fail_typed(context("open directory", path.str()), errno);
    NB_TRY_ASSIGN(opened, walk_beneath(fd(), path));
  }
  return std::make_unique<PosixDirectory>(std::move(opened));
}

}  // namespace posix

Result<std::unique_ptr<Directory>> open_user_directory(const std::string& path) {
  constexpr int k_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  if (path.find('\0') != std::string::npos) return fail(Errc::path, "open directory: " + path, EINVAL);
  Fd opened(::open(path.c_str(), k_flags | O_NOATIME));
  if (!opened.valid() && errno == EPERM) opened = Fd(::open(path.c_str(), k_flags));
  if (!opened.valid()) return posix::fail_typed("open directory: " + path, errno);
  return std::make_unique<posix::PosixDirectory>(std::move(opened));
}

}  // namespace nb::fs
