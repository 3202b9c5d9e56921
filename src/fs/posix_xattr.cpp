// SPDX-License-Identifier: Apache-2.0
// The three families of xattr system calls behind one target, and the races between listing and reading.
#include "fs/posix_xattr.hpp"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/text.hpp"

namespace nb::fs::posix {
namespace {

constexpr std::size_t k_stack_bytes = 1024;
constexpr int k_max_attempts = 64;  // of a list or value that grows between asking for its size and reading it

// listxattrat(2) of Linux 6.13, the same number on every architecture; glibc has no name for it yet. It saves the way
// through /proc, which costs twice as much as the call itself.
constexpr long k_listxattrat = 465;
std::atomic<bool> g_has_listxattrat{true};

// Nothing if the kernel (or a filter of system calls in front of it) does not have it.
std::optional<ssize_t> list_at(int directory, const char* name, char* buffer, std::size_t size) {
  if (!g_has_listxattrat.load(std::memory_order_relaxed)) return std::nullopt;
  const long got = ::syscall(k_listxattrat, directory, name, AT_SYMLINK_NOFOLLOW, buffer, size);
  if (got >= 0 || (errno != ENOSYS && errno != EPERM)) return got;
  g_has_listxattrat = false;
  return std::nullopt;
}

// What an xattr call is aimed at: a descriptor, a path through /proc whose last part is the magic link (followed), or
// one whose last part is a name (not followed).
class Target {
 public:
  explicit Target(Inode inode)
      : m_kind(inode.access == Access::full ? Kind::descriptor : Kind::magic_link), m_fd(inode.fd) {
    if (m_kind == Kind::magic_link) m_path = proc_path(m_fd);
  }
  Target(int directory, std::string_view name) : m_kind(Kind::name), m_fd(directory), m_name(name) {}

  ssize_t list(char* buffer, std::size_t size) const {
    switch (m_kind) {
      case Kind::descriptor: return ::flistxattr(m_fd, buffer, size);
      case Kind::magic_link: return ::listxattr(m_path.c_str(), buffer, size);
      case Kind::name: break;
    }
    if (const auto got = list_at(m_fd, CName(m_name).c_str(), buffer, size)) return *got;
    return ::llistxattr(proc_path(m_fd, CName(m_name)).c_str(), buffer, size);
  }

  ssize_t get(const char* name, char* buffer, std::size_t size) const {
    switch (m_kind) {
      case Kind::descriptor: return ::fgetxattr(m_fd, name, buffer, size);
      case Kind::magic_link: return ::getxattr(m_path.c_str(), name, buffer, size);
      case Kind::name: break;
    }
    return ::lgetxattr(proc_path(m_fd, CName(m_name)).c_str(), name, buffer, size);
  }

  // The error for errno. Without /proc every path looks missing, which must not pass for a vanished file.
  tl::unexpected<Error> failed(std::string_view operation) const {
    const int error = errno;
    if (error == ENOENT && (m_kind == Kind::magic_link || stat_name(m_fd, CName(m_name).c_str()))) {
      return fail(Errc::unsupported, context("xattrs need /proc", m_name), error);
    }
    return fail_errno(context(operation, m_name), error);
  }

 private:
  enum class Kind : std::uint8_t { descriptor, magic_link, name };
  Kind m_kind;
  int m_fd;
  std::string m_path;  // of a magic link
  std::string_view m_name;
};

// Calls `read(buffer, size)` with growing buffers until the answer fits. Nothing is left in errno but the last error.
template <class Read>
std::optional<std::string> read_whole(const Read& read) {
  std::array<char, k_stack_bytes> small;
  ssize_t got = read(small.data(), small.size());
  if (got >= 0) return std::string(small.data(), static_cast<std::size_t>(got));
  for (int attempt = 0; attempt < k_max_attempts && errno == ERANGE; ++attempt) {
    const ssize_t size = read(nullptr, 0);
    if (size < 0) return std::nullopt;
    // One byte at least: size 0 would only ask again.
    std::string large(static_cast<std::size_t>(size) + 1, '\0');
    got = read(large.data(), large.size());
    if (got < 0) continue;
    large.resize(static_cast<std::size_t>(got));
    return large;
  }
  return std::nullopt;
}

Result<Xattrs> read_all(const Target& target) {
  const std::optional<std::string> names =
      read_whole([&](char* buffer, std::size_t size) { return target.list(buffer, size); });
  if (!names) {
    if (errno == ENOTSUP) return Xattrs();
    return target.failed("listxattr");
  }
  Xattrs found;
  if (names->empty()) return found;
  for (const std::string_view listed : split(std::string_view(*names).substr(0, names->size() - 1), '\0')) {
    if (!is_carried_xattr(listed)) continue;
    std::string name(listed);
    std::optional<std::string> value =
        read_whole([&](char* buffer, std::size_t size) { return target.get(name.c_str(), buffer, size); });
    if (value) {
      found.push_back({std::move(name), std::move(*value)});
    } else if (errno != ENODATA) {  // removed since it was listed
      return target.failed("getxattr " + name);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

// What xfs lists as trusted.SGI_ACL_* are the POSIX ACLs a second time: whoever removes one removes the ACL.
bool is_carried_xattr(std::string_view name) {
  if (name.starts_with("trusted.SGI_ACL_")) return false;
  if (name.starts_with("user.") || name.starts_with("trusted.")) return true;
  if (name.starts_with("security.")) {
    return name != "security.selinux" && name != "security.ima" && name != "security.evm";
  }
  return name == "system.posix_acl_access" || name == "system.posix_acl_default";
}

Result<Xattrs> read_xattrs(Inode inode) { return read_all(Target(inode)); }

Result<Xattrs> read_xattrs_at(int fd, std::string_view name) { return read_all(Target(fd, name)); }

Status set_xattr(Inode inode, const std::string& name, std::string_view value) {
  const int result = inode.access == Access::full
                         ? ::fsetxattr(inode.fd, name.c_str(), value.data(), value.size(), 0)
                         : ::setxattr(proc_path(inode.fd).c_str(), name.c_str(), value.data(), value.size(), 0);
  if (result != 0) {
    if (errno == ENOENT) return fail(Errc::unsupported, "setxattr: /proc is not mounted", ENOENT);
    return fail_errno("setxattr " + name);
  }
  return {};
}

Status remove_xattr(Inode inode, const std::string& name) {
  const int result = inode.access == Access::full ? ::fremovexattr(inode.fd, name.c_str())
                                                  : ::removexattr(proc_path(inode.fd).c_str(), name.c_str());
  if (result != 0) {
    if (errno == ENODATA) return fail(Errc::not_found, "removexattr " + name, ENODATA);
    if (errno == ENOENT) return fail(Errc::unsupported, "removexattr: /proc is not mounted", ENOENT);
    return fail_errno("removexattr " + name);
  }
  return {};
}

}  // namespace nb::fs::posix
