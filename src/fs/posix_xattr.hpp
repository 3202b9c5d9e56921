// SPDX-License-Identifier: Apache-2.0
// Extended attributes of one inode or one name. Internal to src/fs.
// Carried: user.*, trusted.*, security.* and POSIX ACLs; not security.selinux, .ima and .evm, which belong to the
// host's policy and are made anew by it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "fs/posix_inode.hpp"
#include "fs/stat.hpp"

namespace nb::fs::posix {

// True for the attributes that nbackup carries.
bool is_carried_xattr(std::string_view name);

Result<Xattrs> read_xattrs(Inode inode);
// Of a name in the directory `fd`, a symlink itself.
Result<Xattrs> read_xattrs_at(int fd, std::string_view name);
Status set_xattr(Inode inode, const std::string& name, std::string_view value);
Status remove_xattr(Inode inode, const std::string& name);

}  // namespace nb::fs::posix
