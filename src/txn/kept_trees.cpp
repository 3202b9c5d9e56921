// SPDX-License-Identifier: Apache-2.0
#include "txn/kept_trees.hpp"

#include "txn/history.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

// Descriptors are few, and neighbours in a list are of few generations.
constexpr std::size_t k_most_open = 16;

std::string shown(std::uint64_t generation, const RelPath& path) {
  return "history/" + std::to_string(generation) + "/files/" + path.str();
}

}  // namespace

Result<LiveTree*> KeptTrees::of(std::uint64_t generation) {
  if (const auto it = m_open.find(generation); it != m_open.end()) return &it->second->tree;
  if (m_open.size() >= k_most_open) m_open.clear();
  auto files = m_history.open_directory_path(kept_files(generation));
  if (!files && files.error().code == Errc::not_found) return nullptr;
  if (!files) return tl::make_unexpected(std::move(files).error());
  return &m_open.emplace(generation, std::make_unique<Tree>(std::move(*files))).first->second->tree;
}

Result<std::optional<fs::Stat>> KeptTrees::find(std::uint64_t generation, const RelPath& path) {
  NB_TRY_ASSIGN(LiveTree* const tree, of(generation));
  return tree == nullptr ? std::optional<fs::Stat>() : tree->find(path);
}

Result<fs::Metadata> KeptTrees::metadata(std::uint64_t generation, const RelPath& path) {
  NB_TRY_ASSIGN(LiveTree* const tree, of(generation));
  if (tree == nullptr) return fail(Errc::not_found, shown(generation, path));
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, tree->open_node(path));
  NB_TRY_ASSIGN(const fs::Stat stat, node->stat());
  NB_TRY_ASSIGN(fs::Xattrs xattrs, node->xattrs());
  return fs::Metadata{stat.mode, stat.owner, stat.mtime, std::move(xattrs)};
}

Result<fs::Directory*> KeptTrees::make_parent_of(std::uint64_t generation, const RelPath& path) {
  NB_TRY_ASSIGN(LiveTree * tree, of(generation));
  if (tree == nullptr) {
    NB_TRY_ASSIGN(const auto entry, m_history.open_directory(std::to_string(generation)));
    NB_TRY_ASSIGN(const auto made, open_or_create_directory(*entry, k_files_name));
    NB_TRY_ASSIGN(tree, of(generation));
  }
  NB_TRY_ASSIGN(fs::Directory* const parent, tree->parent_of(path));
  if (parent != nullptr) return parent;
  NB_TRY(open_or_create_path(tree->root(), path.parent()));
  NB_TRY_ASSIGN(fs::Directory* const made, tree->parent_of(path));
  if (made == nullptr) return fail(Errc::bad_set, shown(generation, path.parent()) + " is no directory");
  return made;
}

Status KeptTrees::check(std::uint64_t generation, const RelPath& path, const fs::Stat& stat, Use use) {
  if (stat.mount_root) return fail(Errc::cross_device, shown(generation, path));
  if (stat.immutable) return fail(Errc::not_permitted, shown(generation, path) + " is immutable (chattr)");
  if (stat.type != fs::FileType::directory) return {};
  NB_TRY_ASSIGN(LiveTree* const tree, of(generation));
  if (tree == nullptr) return fail(Errc::not_found, shown(generation, path));
  const auto directory = tree->open_directory(path);
  if (directory && (*directory)->writable() && !is_closed(stat)) return {};
  // Only the owner may set a mode, and what that means is best told by trying.
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, tree->open_node(path));
  const Status set = node->set_mode(stat.mode);
  if (set) return {};
  // For what may be written to as it is, no other mode is needed.
  if (directory && (*directory)->writable()) return {};
  const std::string what = use == Use::moves ? "move " : "change ";
  return fail(set.error().code, "no permission to " + what + shown(generation, path), set.error().sys_errno);
}

void KeptTrees::forget(std::uint64_t generation, const RelPath& path) {
  if (const auto it = m_open.find(generation); it != m_open.end()) it->second->tree.forget(path);
}

void open_up(const fs::Directory& parent, std::string_view name) {
  const auto node = parent.open_node(name);
  if (!node) return;
  const auto stat = (*node)->stat();
  if (stat && is_closed(*stat)) static_cast<void>((*node)->set_mode(stat->mode | 0700U));
}

}  // namespace nb::txn
