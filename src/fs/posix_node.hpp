// SPDX-License-Identifier: Apache-2.0
// PosixNode: the Node half of the real Node, File and Directory. Internal to src/fs.
#pragma once

#include <utility>

#include "base/fd.hpp"
#include "fs/directory.hpp"
#include "fs/posix_identity.hpp"
#include "fs/posix_inode.hpp"
#include "fs/posix_xattr.hpp"

namespace nb::fs::posix {

template <class Interface, Access access>
class PosixNode : public Interface {
 public:
  explicit PosixNode(Fd fd) : m_fd(std::move(fd)) {}

  [[nodiscard]] Result<Stat> stat() const override { return stat_name(fd(), ""); }
  [[nodiscard]] Result<Xattrs> xattrs() const override { return read_xattrs(inode()); }
  [[nodiscard]] std::optional<std::string> file_system_identity() const override {
    if constexpr (access == Access::path_only) return std::nullopt;
    return posix::file_system_identity(fd());
  }
  Status set_owner(Owner owner) override { return posix::set_owner(inode(), owner); }
  Status set_mode(std::uint32_t mode) override { return posix::set_mode(inode(), mode); }
  Status set_mtime(Timestamp mtime) override { return posix::set_mtime(inode(), mtime); }
  Status set_xattr(const std::string& name, std::string_view value) override {
    return posix::set_xattr(inode(), name, value);
  }
  Status remove_xattr(const std::string& name) override { return posix::remove_xattr(inode(), name); }

 protected:
  [[nodiscard]] int fd() const { return m_fd.get(); }
  [[nodiscard]] Inode inode() const { return {m_fd.get(), access}; }

 private:
  Fd m_fd;
};

// An inode of any type, held by an O_PATH descriptor.
using PathNode = PosixNode<Node, Access::path_only>;

}  // namespace nb::fs::posix
