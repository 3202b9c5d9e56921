// SPDX-License-Identifier: Apache-2.0
// PosixDirectory: the real Directory. Internal to src/fs; others get one from open_user_directory.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fs/posix_node.hpp"

namespace nb::fs::posix {

class PosixDirectory final : public PosixNode<Directory, Access::full> {
 public:
  using PosixNode::PosixNode;

  [[nodiscard]] int descriptor() const { return fd(); }

  [[nodiscard]] std::optional<std::string> attribute_identity() const override {
    return posix::attribute_identity(fd());
  }
  [[nodiscard]] bool folds_case() const override { return posix::folds_case(fd()); }
  [[nodiscard]] Result<std::unique_ptr<Directory>> reopen() const override;
  [[nodiscard]] Result<std::vector<NamedType>> list() const override;
  [[nodiscard]] Result<Names> list_all() const override;
  [[nodiscard]] Result<Stat> stat_at(std::string_view name) const override;
  [[nodiscard]] Result<Xattrs> xattrs_at(std::string_view name) const override;
  [[nodiscard]] Result<std::string> read_link(std::string_view name) const override;

  [[nodiscard]] Result<std::unique_ptr<Node>> open_node(std::string_view name) const override;
  [[nodiscard]] Result<std::unique_ptr<File>> open_file(std::string_view name, OpenMode mode) const override;
  [[nodiscard]] Result<std::unique_ptr<Directory>> open_directory(std::string_view name) const override;
  [[nodiscard]] Result<std::unique_ptr<Directory>> open_directory_path(const RelPath& path) const override;

  Result<std::unique_ptr<File>> create_file(std::string_view name, std::uint32_t mode) override;
  Result<std::unique_ptr<Directory>> create_directory(std::string_view name) override;
  Status create_symlink(std::string_view name, const std::string& target) override;
  Status create_node(std::string_view name, FileType type, DeviceNumber number) override;

  Status link(std::string_view name, Directory& to, std::string_view new_name) override;
  Status rename(std::string_view name, Directory& to, std::string_view new_name, RenameMode mode) override;
  Status remove_file(std::string_view name) override;
  Status remove_directory(std::string_view name) override;

  Status sync() override;
  Status sync_file_system() override;
  [[nodiscard]] bool sync_file_system_reports() const override;
  [[nodiscard]] Result<Space> space() const override;
  [[nodiscard]] std::optional<std::string> kernel_path() const override { return proc_path(fd()); }
  [[nodiscard]] bool writable() const override;
};

// The descriptor's owner; there is only one implementation in any one process and tree (asserted).
const PosixDirectory& as_posix(const Directory& directory);

// Opens `name` in `fd` as a directory: never a symlink, close-on-exec, access times left alone where permitted.
// Invalid with errno set on failure.
Fd open_directory_at(int fd, const char* name);

}  // namespace nb::fs::posix
