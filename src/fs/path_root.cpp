// SPDX-License-Identifier: Apache-2.0
#include "fs/path_root.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

#include "base/text.hpp"
#include "fs/posix_handle.hpp"

namespace nb::fs {
namespace {

constexpr int k_directory_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr mode_t k_new_mode = 0777;
// A rename or mount anywhere while ".." is resolved makes the kernel ask for another attempt.
constexpr int k_max_attempts = 64;

// EPERM stands for a seccomp filter that does not know openat2, unless O_NOATIME is what was refused.
bool is_openat2_missing(int error, int flags) {
  return error == ENOSYS || (error == EPERM && (flags & O_NOATIME) == 0);
}

// Without openat2 no symlink and no ".." is followed at all. Invalid with errno set.
Fd walk_beneath(int top, const std::string& below, int flags) {
  Fd at(::openat(top, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const std::string_view name : split(below, '/')) {
    if (!at.valid()) return at;
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      errno = EXDEV;
      return {};
    }
    at = Fd(::openat(at.get(), std::string(name).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!at.valid() || (flags & O_PATH) != 0) return at;
  return Fd(::openat(at.get(), ".", flags));
}

bool same_file(const Stat& a, const Stat& b) { return a.device == b.device && a.inode == b.inode; }

}  // namespace

Result<PathRoot> PathRoot::open(const std::optional<std::string>& confined_to) {
  PathRoot root;
  if (!confined_to) return root;
  root.m_top = Fd(::open(confined_to->c_str(), k_directory_flags));
  if (!root.m_top.valid()) return posix::fail_typed("open directory: " + *confined_to, errno);
  NB_TRY_ASSIGN(root.m_top_stat, posix::stat_name(root.m_top.get(), ""));
  NB_TRY_ASSIGN(root.m_top_path, posix::path_of(root.m_top.get()));
  return root;
}

tl::unexpected<Error> PathRoot::outside(const std::string& path) const {
  return fail(Errc::path, path + " lies outside " + m_top_path + ", which serve --root confines this key to");
}

bool PathRoot::is_top(const std::string& path) const {
  if (!m_top.valid()) return false;
  const Fd there(::open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!there.valid()) return false;
  const Result<Stat> stat = posix::stat_name(there.get(), "");
  return stat && same_file(*stat, m_top_stat);
}

// The shortest beginning of an absolute path that is the confining directory says where the rest starts; the rest is
// resolved from the held directory.
Result<std::string> PathRoot::below_top(const std::string& path) const {
  if (path.empty()) return std::string(".");
  if (path.front() != '/') return path;
  for (std::size_t end = 1; end <= path.size(); ++end) {
    if (end != 1 && end != path.size() && path[end] != '/') continue;
    if (!is_top(path.substr(0, end))) continue;
    const std::size_t rest = path.find_first_not_of('/', end);
    return rest == std::string::npos ? std::string(".") : path.substr(rest);
  }
  return outside(path);
}

// Invalid with errno set.
Fd PathRoot::open_beneath(const std::string& below, int flags) const {
  open_how how{};
  how.flags = static_cast<__u64>(flags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  Fd opened;
  for (int attempt = 0; attempt < k_max_attempts && !opened.valid(); ++attempt) {
    opened = Fd(static_cast<int>(::syscall(SYS_openat2, m_top.get(), below.c_str(), &how, sizeof how)));
    if (!opened.valid() && errno != EAGAIN) break;
  }
  if (opened.valid() || !is_openat2_missing(errno, flags)) return opened;
  return walk_beneath(m_top.get(), below, flags);
}

Result<Fd> PathRoot::open_fd(const std::string& path, int flags) const {
  if (path.find('\0') != std::string::npos) return fail(Errc::path, "open: " + path, EINVAL);
  Fd opened;
  if (m_top.valid()) {
    NB_TRY_ASSIGN(const std::string below, below_top(path));
    opened = open_beneath(below, flags);
    if (!opened.valid() && errno == EXDEV) return outside(path);
  } else {
    opened = Fd(::open(path.empty() ? "." : path.c_str(), flags));
  }
  if (!opened.valid()) return fail_errno(path);
  return opened;
}

Result<Stat> PathRoot::stat(const std::string& path) const {
  NB_TRY_ASSIGN(const Fd there, open_fd(path, O_PATH | O_CLOEXEC));
  return posix::stat_name(there.get(), "");
}

Result<std::unique_ptr<Directory>> PathRoot::open_directory(const std::string& path) const {
  Result<Fd> opened = open_fd(path, k_directory_flags | O_NOATIME);
  if (!opened && opened.error().sys_errno == EPERM) opened = open_fd(path, k_directory_flags);
  if (!opened && opened.error().sys_errno == ENOTDIR) return fail(Errc::path, opened.error().context, ENOTDIR);
  NB_TRY_ASSIGN(Fd directory, std::move(opened));
  return std::unique_ptr<Directory>(std::make_unique<posix::PosixDirectory>(std::move(directory)));
}

Result<std::unique_ptr<Directory>> PathRoot::make_directory(const Directory& parent, std::string_view name) {
  const int fd = posix::as_posix(parent).descriptor();
  if (::mkdirat(fd, posix::CName(name).c_str(), k_new_mode) != 0 && errno != EEXIST) {
    return fail_errno(posix::context("mkdir", name));
  }
  return parent.open_directory(name);
}

Result<std::unique_ptr<Directory>> PathRoot::parent_of(const Directory& directory) const {
  NB_TRY_ASSIGN(const Stat here, directory.stat());
  if (m_top.valid() && same_file(here, m_top_stat)) return std::unique_ptr<Directory>();
  Fd up(::openat(posix::as_posix(directory).descriptor(), "..", k_directory_flags));
  if (!up.valid()) return fail_errno("open the directory above");
  NB_TRY_ASSIGN(const Stat above, posix::stat_name(up.get(), ""));
  if (same_file(above, here) && same_mount(above, here)) return std::unique_ptr<Directory>();
  return std::unique_ptr<Directory>(std::make_unique<posix::PosixDirectory>(std::move(up)));
}

Result<std::string> real_path_of(const Directory& directory) {
  return posix::path_of(posix::as_posix(directory).descriptor());
}

}  // namespace nb::fs
