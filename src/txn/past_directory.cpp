// SPDX-License-Identifier: Apache-2.0
#include "txn/past_directory.hpp"

#include "txn/locate.hpp"

namespace nb::txn {
namespace {

using OverlayNode = PastOverlay::Node;
using State = PastOverlay::State;

// `physical`: as the file system lists the name; null if it does not.
std::optional<fs::FileType> listed_type(const OverlayNode& node, const fs::NamedType* physical) {
  switch (node.state) {
    case State::absent: return std::nullopt;
    case State::lost: return fs::FileType::regular;
    case State::kept: return node.type;
    case State::inherited: break;
  }
  if (physical != nullptr) return physical->type;
  return node.children.empty() ? fs::FileType::regular : fs::FileType::directory;
}

// Both are sorted by memcmp.
std::vector<fs::NamedType> merge(std::vector<fs::NamedType> physical, const OverlayNode& node) {
  std::vector<fs::NamedType> all;
  all.reserve(physical.size() + node.children.size());
  auto it = physical.begin();
  for (const auto& [name, child] : node.children) {
    for (; it != physical.end() && it->name < name; ++it) all.push_back(std::move(*it));
    const bool is_listed = it != physical.end() && it->name == name;
    const auto type = listed_type(*child, is_listed ? &*it : nullptr);
    if (type) all.push_back({name, *type});
    if (is_listed) ++it;
  }
  all.insert(all.end(), std::move_iterator(it), std::move_iterator(physical.end()));
  return all;
}

}  // namespace

bool PastDirectory::same_as(const PastDirectory& other) const {
  const PastView& a = view();
  const PastView& b = other.view();
  if (&a.set != &b.set || a.overlay.last_inode_order() != b.overlay.last_inode_order()) return false;
  const auto here = physical().stat();
  const auto there = other.physical().stat();
  if (!here || !there || inode_id(*here) != inode_id(*there)) return false;
  return PastOverlay::say_the_same(place().node, other.place().node);
}

Result<const fs::Directory*> PastDirectory::kept(std::uint64_t generation) const {
  if (!m_kept || m_kept_generation != generation) {
    m_kept.reset();
    NB_TRY_ASSIGN(m_kept, view().open_kept(generation, m_path));
    m_kept_generation = generation;
  }
  return m_kept.get();
}

tl::unexpected<Error> PastDirectory::explain(Error error, const Found& found, std::string_view name) const {
  const bool is_lost = found.node != nullptr && error.code == Errc::not_found;
  return tl::make_unexpected(is_lost ? lost(*found.node, m_path.child(name)) : std::move(error));
}

Result<PastDirectory::Found> PastDirectory::find(std::string_view name) const {
  const OverlayNode* node = PastOverlay::child(place().node, name);
  if (node == nullptr) return Found{&physical(), nullptr};
  if (node->state == State::absent) return fail(Errc::not_found, m_path.child(name).str());
  if (node->state == State::lost) return tl::make_unexpected(lost(*node, m_path.child(name)));
  Found found{&physical(), node};
  if (node->state == State::kept) {
    Result<const fs::Directory*> in = kept(node->generation);
    if (!in && is_not_there(in.error().code)) return tl::make_unexpected(lost(*node, m_path.child(name)));
    NB_TRY_ASSIGN(found.in, std::move(in));
  }
  if (!node->children.empty()) NB_TRY(expect_directory(found, name));
  return found;
}

// What has changes below it was a directory: another type came from somebody else.
Status PastDirectory::expect_directory(const Found& found, std::string_view name) const {
  const Result<fs::Stat> stat = found.in->stat_at(name);
  if (!stat) return explain(stat.error(), found, name);
  if (stat->type == fs::FileType::directory) return {};
  return tl::make_unexpected(lost(*found.node, m_path.child(name)));
}

Status PastDirectory::expect_no_set(const RelPath& below) const {
  if (view().is_live()) return {};
  for (RelPath at = below; !at.is_root() && !m_sure.is_within(at); at = at.parent()) {
    if (!is_set(physical(), at)) continue;
    return fail(Errc::unreadable, m_path.join(at).str() + "/ (a file set of its own; look back in that one)");
  }
  m_sure = below;
  return {};
}

Result<std::unique_ptr<fs::Directory>> PastDirectory::reopen() const {
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> again, physical().reopen());
  return std::make_unique<PastDirectory>(place(), m_path, std::move(again));
}

Result<std::vector<fs::NamedType>> PastDirectory::list() const {
  NB_TRY_ASSIGN(std::vector<fs::NamedType> names, physical().list());
  if (place().node == nullptr || place().node->children.empty()) return names;
  return merge(std::move(names), *place().node);
}

Result<fs::Stat> PastDirectory::stat_at(std::string_view name) const {
  NB_TRY_ASSIGN(const Found found, find(name));
  Result<fs::Stat> stat = found.in->stat_at(name);
  if (!stat) return explain(std::move(stat).error(), found, name);
  view().show(found.node, *stat);
  return stat;
}

Result<fs::Xattrs> PastDirectory::xattrs_at(std::string_view name) const {
  NB_TRY_ASSIGN(const Found found, find(name));
  if (view().may_have_old_xattrs(found.node)) {
    const Result<fs::Stat> stat = found.in->stat_at(name);
    if (!stat) return explain(stat.error(), found, name);
    const fs::Xattrs* old = view().old_xattrs(found.node, inode_id(*stat));
    if (old != nullptr) return *old;
  }
  Result<fs::Xattrs> xattrs = found.in->xattrs_at(name);
  if (!xattrs) return explain(std::move(xattrs).error(), found, name);
  return xattrs;
}

Result<std::string> PastDirectory::read_link(std::string_view name) const {
  NB_TRY_ASSIGN(const Found found, find(name));
  Result<std::string> target = found.in->read_link(name);
  if (!target) return explain(std::move(target).error(), found, name);
  return target;
}

Result<std::unique_ptr<fs::Node>> PastDirectory::open_node(std::string_view name) const {
  NB_TRY_ASSIGN(const Found found, find(name));
  Result<std::unique_ptr<fs::Node>> node = found.in->open_node(name);
  if (!node) return explain(std::move(node).error(), found, name);
  return std::make_unique<PastNode<fs::Node>>(place_of(found.node), std::move(*node));
}

Result<std::unique_ptr<fs::File>> PastDirectory::open_file(std::string_view name, fs::OpenMode mode) const {
  if (mode != fs::OpenMode::read) return read_only_past();
  NB_TRY_ASSIGN(const Found found, find(name));
  Result<std::unique_ptr<fs::File>> file = found.in->open_file(name, mode);
  if (!file) return explain(std::move(file).error(), found, name);
  return std::make_unique<PastFile>(place_of(found.node), std::move(*file));
}

Result<std::unique_ptr<fs::Directory>> PastDirectory::open_directory(std::string_view name) const {
  NB_TRY_ASSIGN(const Found found, find(name));
  Result<std::unique_ptr<fs::Directory>> directory = found.in->open_directory(name);
  if (!directory) return explain(std::move(directory).error(), found, name);
  if (found.in == &physical()) NB_TRY(expect_no_set(RelPath().child(std::string(name))));
  return std::make_unique<PastDirectory>(place_of(found.node), m_path.child(name), std::move(*directory));
}

Result<std::unique_ptr<fs::Directory>> PastDirectory::open_found(const RelPath& below,
                                                                 const PastOverlay::Found& found) const {
  RelPath path = m_path.join(below);
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> directory,
                found.kept ? view().open_kept(*found.kept, path) : physical().open_directory_path(below));
  if (!found.kept) NB_TRY(expect_no_set(below));
  return std::make_unique<PastDirectory>(place_of(found.node), std::move(path), std::move(directory));
}

Result<std::unique_ptr<fs::Directory>> PastDirectory::open_directory_path(const RelPath& path) const {
  if (path.is_root()) return reopen();
  if (path.depth() == 1) return open_directory(path.name());
  const PastOverlay::Found found = PastOverlay::find(place().node, path);
  if (!found.is_absent) {
    Result<std::unique_ptr<fs::Directory>> opened = open_found(path, found);
    if (opened || !is_not_there(opened.error().code)) return opened;
  }
  // Name by name, to find out what is missing, and whether it is lost.
  NB_TRY_ASSIGN(const auto parent, open_directory_path(path.parent()));
  return parent->open_directory(path.name());
}

}  // namespace nb::txn
