// SPDX-License-Identifier: Apache-2.0
#include "txn/live_tree.hpp"

namespace nb::txn {

bool matches(const fs::Stat& stat, const Ident& ident) {
  Ident found = ident_of(stat);
  if (ident.inode == 0) found.inode = 0;
  return found == ident;
}

Status move_back(fs::Directory& from, std::string_view name, const fs::Stat& stat, fs::Directory& to,
                 std::string_view new_name, fs::RenameMode mode) {
  Status moved = from.rename(name, to, new_name, mode);
  if (moved || moved.error().code != Errc::not_permitted || !is_closed(stat)) return moved;
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, from.open_node(name));
  NB_TRY(node->set_mode(stat.mode | 0700U));
  return from.rename(name, to, new_name, mode);
}

Result<fs::Directory*> LiveTree::parent_of(const RelPath& path) {
  const RelPath parent = path.parent();
  if (parent.is_root()) return &m_root;
  if (m_parent && m_parent_path == parent) return m_parent.get();
  m_parent.reset();
  Result<std::unique_ptr<fs::Directory>> opened = m_root.open_directory_path(parent);
  if (!opened) {
    // A wrong type or a symlink on the way: somebody else's doing, and for us the parent is not there.
    const Errc code = opened.error().code;
    if (is_not_there(code)) return nullptr;
    return tl::make_unexpected(std::move(opened).error());
  }
  m_parent = std::move(*opened);
  m_parent_path = parent;
  return m_parent.get();
}

Result<std::optional<fs::Stat>> LiveTree::find(const RelPath& path) {
  if (path.is_root()) {
    NB_TRY_ASSIGN(const fs::Stat stat, m_root.stat());
    return std::optional<fs::Stat>(stat);
  }
  NB_TRY_ASSIGN(const fs::Directory* parent, parent_of(path));
  if (parent == nullptr) return std::optional<fs::Stat>();
  Result<fs::Stat> stat = parent->stat_at(path.name());
  if (stat) return std::optional<fs::Stat>(*stat);
  if (stat.error().code == Errc::not_found) return std::optional<fs::Stat>();
  return tl::make_unexpected(std::move(stat).error());
}

Result<std::unique_ptr<fs::Node>> LiveTree::open_node(const RelPath& path) {
  if (path.is_root()) {
    NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> root, m_root.reopen());
    return std::unique_ptr<fs::Node>(std::move(root));
  }
  NB_TRY_ASSIGN(const fs::Directory* parent, parent_of(path));
  if (parent == nullptr) return fail(Errc::not_found, "parent of " + path.str());
  return parent->open_node(path.name());
}

Result<std::unique_ptr<fs::Directory>> LiveTree::open_directory(const RelPath& path) {
  if (path.is_root()) return m_root.reopen();
  NB_TRY_ASSIGN(const fs::Directory* parent, parent_of(path));
  if (parent == nullptr) return fail(Errc::not_found, "parent of " + path.str());
  return parent->open_directory(path.name());
}

void LiveTree::forget(const RelPath& path) {
  if (m_parent && m_parent_path.is_within(path)) m_parent.reset();
}

}  // namespace nb::txn
