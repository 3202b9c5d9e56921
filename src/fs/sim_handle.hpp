// SPDX-License-Identifier: Apache-2.0
// SimDirectory: the simulated Directory. Internal to src/fs; tests get one from SimFileSystem::root.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fs/sim_node.hpp"

namespace nb::fs::sim {

class SimDirectory final : public SimNode<Directory> {
 public:
  using SimNode::SimNode;

  [[nodiscard]] Result<std::unique_ptr<Directory>> reopen() const override;
  [[nodiscard]] Result<std::vector<NamedType>> list() const override;
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
  [[nodiscard]] std::optional<std::string> kernel_path() const override { return std::nullopt; }
  [[nodiscard]] bool writable() const override;

 private:
  [[nodiscard]] Handle handle_on(InodeNumber number) const;
  // The inode with this name; the mutex is held.
  [[nodiscard]] Result<InodeNumber> look_up(std::string_view operation, std::string_view name) const;
  // Names may be created and removed here.
  [[nodiscard]] Status check_changeable(std::string_view operation) const;
  // An inode may lose or change a name.
  [[nodiscard]] Status check_movable(InodeNumber number, std::string_view operation) const;
  [[nodiscard]] Status check_free(std::string_view operation, std::string_view name) const;
  // A new inode of this type under a free name.
  Result<InodeNumber> create(std::string_view operation, std::string_view name, FileType type);
  Status rename_in_two_steps(std::string_view name, Directory& to, std::string_view new_name);
  [[nodiscard]] Status check_rename(const NameChange& change, const SimDirectory& to, RenameMode mode) const;
  Status remove(std::string_view operation, std::string_view name, InodeNumber number);
};

}  // namespace nb::fs::sim
