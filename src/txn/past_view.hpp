// SPDX-License-Identifier: Apache-2.0
// PastView: what all handles on one generation's tree share. Not changed after open_past has made it, so handles of one
// view may be used in several threads. Internal to src/txn.
#pragma once

#include <memory>

#include "txn/history.hpp"
#include "txn/past_overlay.hpp"

namespace nb::txn {

struct PastView {
  FileSet& set;
  std::uint64_t number = 0;  // of the generation
  PastOverlay overlay;

  // Whether it shows the live tree: no change leads back to it.
  [[nodiscard]] bool is_live() const { return number == set.head().generation; }
  // The directory `path` in what `generation` keeps. Errc::not_found or path if somebody took it away.
  [[nodiscard]] Result<std::unique_ptr<fs::Directory>> open_kept(std::uint64_t generation, const RelPath& path) const;
  // Puts the old metadata into what the file system says of an inode that is shown under `node` (null: none).
  void show(const PastOverlay::Node* node, fs::Stat& stat) const;
  // Its old attributes, if there is a word about them.
  [[nodiscard]] const fs::Xattrs* old_xattrs(const PastOverlay::Node* node, const InodeId& inode) const;
  // Whether the inode's number matters to old_xattrs; asking for it costs a call.
  [[nodiscard]] bool may_have_old_xattrs(const PastOverlay::Node* node) const {
    return overlay.has_inodes() || (node != nullptr && node->old);
  }
};

// What the view knows to have been at `path`, but cannot show: Errc::unreadable, which ends no restore but lets it
// neither pass for complete nor delete anything there.
[[nodiscard]] Error lost(const PastOverlay::Node& node, const RelPath& path);

}  // namespace nb::txn
