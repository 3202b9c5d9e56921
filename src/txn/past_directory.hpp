// SPDX-License-Identifier: Apache-2.0
// PastDirectory: a directory as it was at an earlier generation, over the live or kept directory that holds most of it;
// names that are kept elsewhere are opened there when they are asked for. Internal to src/txn; made by open_past.
//
// A name that must have been there but cannot be shown (PastOverlay::State::lost; kept, and gone from history; with
// old metadata or changes below, and gone from where it was) is listed all the same, and using it is Errc::unreadable.
// So is a directory that is a file set of its own now: what was in it then, its own history alone can tell.
#pragma once

#include "txn/past_node.hpp"

namespace nb::txn {

class PastDirectory final : public PastNode<fs::Directory> {
 public:
  // `path` is the directory's own in the set.
  PastDirectory(PastPlace place, RelPath path, std::unique_ptr<fs::Directory> physical)
      : PastNode(std::move(place), std::move(physical)), m_path(std::move(path)) {}

  // See same_subtree in past_tree.hpp.
  [[nodiscard]] bool same_as(const PastDirectory& other) const;

  [[nodiscard]] bool folds_case() const override { return physical().folds_case(); }
  [[nodiscard]] Result<std::unique_ptr<fs::Directory>> reopen() const override;
  [[nodiscard]] Result<std::vector<fs::NamedType>> list() const override;
  [[nodiscard]] Result<fs::Stat> stat_at(std::string_view name) const override;
  [[nodiscard]] Result<fs::Xattrs> xattrs_at(std::string_view name) const override;
  [[nodiscard]] Result<std::string> read_link(std::string_view name) const override;
  [[nodiscard]] Result<std::unique_ptr<fs::Node>> open_node(std::string_view name) const override;
  [[nodiscard]] Result<std::unique_ptr<fs::File>> open_file(std::string_view name, fs::OpenMode mode) const override;
  [[nodiscard]] Result<std::unique_ptr<fs::Directory>> open_directory(std::string_view name) const override;
  [[nodiscard]] Result<std::unique_ptr<fs::Directory>> open_directory_path(const RelPath& path) const override;
  [[nodiscard]] Result<fs::Space> space() const override { return physical().space(); }
  [[nodiscard]] std::optional<std::string> kernel_path() const override { return std::nullopt; }
  [[nodiscard]] bool writable() const override { return false; }

  Result<std::unique_ptr<fs::File>> create_file(std::string_view, std::uint32_t) override { return read_only_past(); }
  Result<std::unique_ptr<fs::Directory>> create_directory(std::string_view) override { return read_only_past(); }
  Status create_symlink(std::string_view, const std::string&) override { return read_only_past(); }
  Status create_node(std::string_view, fs::FileType, fs::DeviceNumber) override { return read_only_past(); }
  Status link(std::string_view, fs::Directory&, std::string_view) override { return read_only_past(); }
  Status rename(std::string_view, fs::Directory&, std::string_view, fs::RenameMode) override {
    return read_only_past();
  }
  Status remove_file(std::string_view) override { return read_only_past(); }
  Status remove_directory(std::string_view) override { return read_only_past(); }
  Status sync() override { return read_only_past(); }
  Status sync_file_system() override { return read_only_past(); }
  [[nodiscard]] bool sync_file_system_reports() const override { return false; }

 private:
  // Where a name is: in which directory, and what the overlay says of it.
  struct Found {
    const fs::Directory* in = nullptr;  // until the next call of find
    const PastOverlay::Node* node = nullptr;
  };
  [[nodiscard]] Result<Found> find(std::string_view name) const;
  [[nodiscard]] Status expect_directory(const Found& found, std::string_view name) const;
  // That neither `below`, a path of this directory's own file system, nor a parent of it is a set.
  [[nodiscard]] Status expect_no_set(const RelPath& below) const;
  // This directory as `generation` keeps it.
  [[nodiscard]] Result<const fs::Directory*> kept(std::uint64_t generation) const;
  // The error of using `name`, told as a loss where the overlay knows better than "not found".
  [[nodiscard]] tl::unexpected<Error> explain(Error error, const Found& found, std::string_view name) const;
  [[nodiscard]] Result<std::unique_ptr<fs::Directory>> open_found(const RelPath& below,
                                                                  const PastOverlay::Found& found) const;
  [[nodiscard]] PastPlace place_of(const PastOverlay::Node* node) const { return {place().view, node}; }

  const RelPath m_path;
  // The last that expect_no_set found to be none, with all above it.
  mutable RelPath m_sure;
  // The last that was asked for: names of one directory often come from few generations.
  mutable std::uint64_t m_kept_generation = 0;
  mutable std::unique_ptr<fs::Directory> m_kept;
};

}  // namespace nb::txn
