// SPDX-License-Identifier: Apache-2.0
#include "txn/thin_lists.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "txn/change_list.hpp"
#include "txn/history.hpp"
#include "txn/small_file.hpp"
#include "txn/thin_record.hpp"

namespace nb::txn {
namespace {

// One thing to be said, by what it is made from.
struct Item {
  std::uint64_t order = 0;
  const std::string* key = nullptr;
  const SaidOfPath* place = nullptr;       // where the path is
  const SaidMetadata* metadata = nullptr;  // or what it was like
  const RelPath* path = nullptr;           // instead of a key
};

// An inode that is known by a name of its own from now on.
struct Anchor {
  std::uint64_t generation = 0;
  RelPath path;  // below files/ of it
  const SaidMetadata* said = nullptr;
  fs::FileType type = fs::FileType::regular;
  RelPath name;  // of the anchor; the root: none yet
};

using Anchors = std::map<InodeId, Anchor>;

// Of one inode what was said last is what holds. One that is an anchor of `survivor` already stays it.
Result<Anchors> find_anchors(KeptTrees& trees, const MergedLists& lists, std::uint64_t survivor) {
  Anchors anchors;
  for (const SaidOfAnchor& each : lists.anchors) {
    NB_TRY_ASSIGN(const std::optional<fs::Stat> stat, trees.find(each.generation, each.path));
    // Nothing else has this inode: it goes, or has gone.
    if (!stat || stat->type == fs::FileType::directory || stat->links < 2) continue;
    Anchor& anchor = anchors[inode_id(*stat)];
    const bool has_name = each.generation == survivor && is_anchor(each.path);
    if (anchor.said == nullptr || has_name) {
      anchor.generation = each.generation;
      anchor.path = each.path;
      anchor.type = stat->type;
    }
    if (has_name) anchor.name = each.path;
    if (anchor.said == nullptr || anchor.said->order < each.said.order) anchor.said = &each.said;
  }
  return anchors;
}

// The anchors of the surviving generation, in files/.nbackup.
class AnchorPlace {
 public:
  static Result<AnchorPlace> open(KeptTrees& trees, std::uint64_t generation) {
    AnchorPlace place(trees, generation);
    NB_TRY_ASSIGN(LiveTree* const tree, trees.of(generation));
    if (tree == nullptr) return place;
    NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> directory, open_if_there(tree->root(), k_control_name));
    if (!directory) return place;
    NB_TRY_ASSIGN(const std::vector<fs::NamedType> names, directory->list());
    for (const fs::NamedType& each : names) {
      place.m_next = std::max(place.m_next, parse_u64(each.name).value_or(0) + 1);
    }
    return place;
  }

  // Links are made before anything moves; one that nothing leads to in the end costs a name.
  Status name(Anchor& anchor) {
    if (!anchor.name.is_root()) return {};
    anchor.name = RelPath().child(k_control_name).child(std::to_string(m_next++));
    // Another tree may be opened first, which ends the handles of the ones before.
    NB_TRY_ASSIGN(fs::Directory* const to, m_trees.make_parent_of(m_generation, anchor.name));
    NB_TRY_ASSIGN(const std::unique_ptr<fs::Directory> held, to->reopen());
    NB_TRY_ASSIGN(LiveTree* const from, m_trees.of(anchor.generation));
    if (from == nullptr) return fail(Errc::bad_set, "files of generation " + std::to_string(anchor.generation));
    NB_TRY_ASSIGN(fs::Directory* const parent, from->parent_of(anchor.path));
    if (parent == nullptr) return fail(Errc::bad_set, "history: " + anchor.path.str() + " is not there");
    return parent->link(anchor.path.name(), *held, anchor.name.name());
  }

 private:
  AnchorPlace(KeptTrees& trees, std::uint64_t generation) : m_trees(trees), m_generation(generation) {}
  KeptTrees& m_trees;
  std::uint64_t m_generation;
  std::uint64_t m_next = 1;
};

bool is_below_kept(const MergedLists& lists, const std::string& key) {
  const std::size_t cut = key.rfind('\0');
  const SaidOfPath* cover = cut == std::string::npos ? nullptr : cover_of(lists, key.substr(0, cut));
  return cover != nullptr && cover->where == Whereabouts::kept;
}

// What lies in a tree that is kept whole needs no saying; that something is lost there still does.
bool needs_saying(const MergedLists& lists, const std::string& key, const SaidOfPath& said) {
  if (said.where == Whereabouts::unsaid) return false;
  return said.where == Whereabouts::lost || !is_below_kept(lists, key);
}

bool leads_somewhere(const MergedLists& lists, const std::string& key) {
  const SaidOfPath* cover = cover_of(lists, key);
  return cover == nullptr || cover->where == Whereabouts::kept;
}

void add_items(const MergedLists& lists, std::vector<Item>& items) {
  for (const auto& [key, said] : lists.paths) {
    if (needs_saying(lists, key, said)) items.push_back({said.order, &key, &said, nullptr, nullptr});
    if (said.metadata.empty() || !leads_somewhere(lists, key)) continue;
    for (const SaidMetadata& each : said.metadata) items.push_back({each.order, &key, nullptr, &each, nullptr});
  }
  for (const SaidBefore& each : lists.before) {
    items.push_back({each.said.order, nullptr, nullptr, &each.said, &each.path});
  }
}

Change place_of(const RelPath& path, const SaidOfPath& said) {
  if (said.where == Whereabouts::kept) return KeptEntry{path, said.type};
  return Absent{path, said.where == Whereabouts::lost};
}

Status write_item(ChangeListWriter& out, const Item& item) {
  const RelPath path = item.path != nullptr ? *item.path : path_of_key(*item.key);
  if (item.place != nullptr) return out.append(place_of(path, *item.place));
  return out.append(OldMetadata{path, item.metadata->metadata, item.metadata->shared});
}

Status write_anchor(ChangeListWriter& out, const Anchor& anchor) {
  NB_TRY(out.append(KeptEntry{anchor.name, anchor.type}));
  return out.append(OldMetadata{anchor.name, anchor.said->metadata, true});
}

}  // namespace

Status write_merged_list(KeptTrees& trees, fs::Directory& directory, const ChangesHeader& header,
                         const MergedLists& lists) {
  NB_TRY_ASSIGN(Anchors anchors, find_anchors(trees, lists, header.generation));
  std::vector<std::pair<std::uint64_t, const Anchor*>> by_order;
  if (!anchors.empty()) {
    NB_TRY_ASSIGN(AnchorPlace place, AnchorPlace::open(trees, header.generation));
    for (auto& [inode, anchor] : anchors) {
      NB_TRY(place.name(anchor));
      by_order.emplace_back(anchor.said->order, &anchor);
    }
  }
  std::sort(by_order.begin(), by_order.end());
  std::vector<Item> items;
  add_items(lists, items);
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.order < b.order; });
  NB_TRY(remove_if_there(directory, k_changes_new_name));
  NB_TRY_ASSIGN(ChangeListWriter out, ChangeListWriter::create(directory, k_changes_new_name, header));
  auto next = by_order.begin();
  for (const Item& item : items) {
    for (; next != by_order.end() && next->first < item.order; ++next) NB_TRY(write_anchor(out, *next->second));
    NB_TRY(write_item(out, item));
  }
  for (; next != by_order.end(); ++next) NB_TRY(write_anchor(out, *next->second));
  return out.finish();
}

}  // namespace nb::txn
