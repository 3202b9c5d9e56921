// SPDX-License-Identifier: Apache-2.0
// System calls on one inode or one name, shared by the real Node, File and Directory. Internal to src/fs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/rel_path.hpp"
#include "base/result.hpp"
#include "fs/stat.hpp"

namespace nb::fs::posix {

// How a descriptor was opened. The kernel refuses most f* calls on O_PATH descriptors; those go through
// /proc/self/fd/N, the one magic link in use.
enum class Access : std::uint8_t { full, path_only };

struct Inode {
  int fd = -1;
  Access access = Access::full;
};

// A checked name (is_safe_name, asserted) with its terminating zero, without an allocation.
class CName {
 public:
  explicit CName(std::string_view name);
  [[nodiscard]] const char* c_str() const { return m_text.data(); }

 private:
  std::array<char, k_max_name_bytes + 1> m_text;
};

// "/proc/self/fd/N" and, with a name, "/proc/self/fd/N/name".
std::string proc_path(int fd);
std::string proc_path(int fd, const CName& name);
// The absolute path by which the kernel knows an open directory now.
Result<std::string> path_of(int fd);

// "operation: name"; the operation alone for an inode that has no name here.
std::string context(std::string_view operation, std::string_view name);

// As fail_errno, but a wrong type (ENOTDIR, EISDIR) is Errc::path. For calls on a single name, where ENOTDIR never
// means that something is missing.
tl::unexpected<Error> fail_typed(std::string context, int sys_errno);

// One statx of `name` in `fd`, or of `fd` itself where `name` is empty.
Result<Stat> stat_name(int fd, const char* name);
// The type that the S_IFMT bits of `mode` say; nothing for one that Linux does not have.
std::optional<FileType> type_from_mode(std::uint32_t mode);

Status set_owner(Inode inode, Owner owner);
Status set_mode(Inode inode, std::uint32_t mode);
Status set_mtime(Inode inode, Timestamp mtime);

}  // namespace nb::fs::posix
