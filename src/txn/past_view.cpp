// SPDX-License-Identifier: Apache-2.0
#include "txn/past_view.hpp"

#include <cerrno>

namespace nb::txn {

// In one call wherever the path allows that: a listing may do this for each name.
Result<std::unique_ptr<fs::Directory>> PastView::open_kept(std::uint64_t generation, const RelPath& path) const {
  const RelPath files = RelPath().child(k_history_name).join(kept_files(generation));
  if (files.str().size() + 1 + path.str().size() <= k_max_path_bytes) {
    return set.control().open_directory_path(files.join(path));
  }
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> top, open_kept_files(set, generation));
  return top->open_directory_path(path);
}

void PastView::show(const PastOverlay::Node* node, fs::Stat& stat) const {
  const fs::Metadata* old = overlay.old_metadata(node, inode_id(stat));
  if (old == nullptr) return;
  stat.mode = old->mode;
  stat.owner = old->owner;
  stat.mtime = old->mtime;
}

const fs::Xattrs* PastView::old_xattrs(const PastOverlay::Node* node, const InodeId& inode) const {
  const fs::Metadata* old = overlay.old_metadata(node, inode);
  return old != nullptr ? &old->xattrs : nullptr;
}

Error lost(const PastOverlay::Node& node, const RelPath& path) {
  switch (node.state) {
    case PastOverlay::State::lost:
      return {Errc::unreadable, 0, path.str() + ": somebody else replaced it before it could be kept"};
    case PastOverlay::State::kept:
      return {Errc::unreadable, ENOENT,
              path.str() + ": somebody took it away from history/" + std::to_string(node.generation) + "/files"};
    default: return {Errc::unreadable, ENOENT, path.str() + ": somebody else took it away, and history has no copy"};
  }
}

}  // namespace nb::txn
