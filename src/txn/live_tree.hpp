// SPDX-License-Identifier: Apache-2.0
// LiveTree: the set's tree as apply and prepare reach into it: by RelPath, through a handle on the last parent.
#pragma once

#include <memory>
#include <optional>

#include "fs/directory.hpp"
#include "txn/records.hpp"

namespace nb::txn {

// The file that the journal means: type and inode, for regular files size and mtime too. Never ctime or the number of
// links: our own hard links change these.
[[nodiscard]] bool matches(const fs::Stat& stat, const Ident& ident);
[[nodiscard]] inline bool same_inode(const fs::Stat& a, const fs::Stat& b) {
  return a.type == b.type && a.inode == b.inode && a.device == b.device;
}

// A directory that is to be moved or changed must have u+rwx: moving it writes its '..'.
[[nodiscard]] inline bool is_closed(const fs::Stat& stat) {
  return stat.type == fs::FileType::directory && (stat.mode & 0700U) != 0700U;
}
// Renames what `stat` tells of back to where it was. A directory may lack the mode that it was given for being moved: a
// power cut can keep the move and lose the mode. Then it gets it again.
Status move_back(fs::Directory& from, std::string_view name, const fs::Stat& stat, fs::Directory& to,
                 std::string_view new_name, fs::RenameMode mode);

class LiveTree {
 public:
  explicit LiveTree(fs::Directory& root) : m_root(root) {}

  // The directory that holds the last component. Nothing if one of the parents is missing, no directory, or a symlink.
  // Valid until the next call. `path` is not the root.
  Result<fs::Directory*> parent_of(const RelPath& path);
  // Nothing if it is not there, or its parent is not.
  Result<std::optional<fs::Stat>> find(const RelPath& path);
  Result<std::unique_ptr<fs::Node>> open_node(const RelPath& path);
  Result<std::unique_ptr<fs::Directory>> open_directory(const RelPath& path);
  // To be called when `path` has been moved or opened up: handles into it are no longer what they were.
  void forget(const RelPath& path);
  [[nodiscard]] fs::Directory& root() { return m_root; }

 private:
  fs::Directory& m_root;
  RelPath m_parent_path;
  std::unique_ptr<fs::Directory> m_parent;
};

}  // namespace nb::txn
