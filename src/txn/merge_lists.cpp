// SPDX-License-Identifier: Apache-2.0
#include "txn/merge_lists.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "txn/history.hpp"

namespace nb::txn {
namespace {

constexpr char k_separator = '\0';

bool says_where(const SaidOfPath& said) { return said.where != Whereabouts::unsaid; }

// The end of everything below `key`.
std::string end_of_below(const std::string& key) { return key + static_cast<char>(k_separator + 1); }

}  // namespace

std::string key_of(const RelPath& path) {
  std::string key = path.str();
  std::replace(key.begin(), key.end(), '/', k_separator);
  return key;
}

RelPath path_of_key(const std::string& key) {
  std::string text = key;
  std::replace(text.begin(), text.end(), k_separator, '/');
  Result<RelPath> path = RelPath::parse(text, Errc::internal);
  NB_ASSERT(path.has_value());
  return std::move(*path);
}

const SaidOfPath* cover_of(const MergedLists& lists, const std::string& key) {
  for (std::size_t length = key.size();;) {
    const auto it = lists.paths.find(key.substr(0, length));
    if (it != lists.paths.end() && says_where(it->second)) return &it->second;
    const std::size_t cut = length == 0 ? std::string::npos : key.rfind(k_separator, length - 1);
    if (cut == std::string::npos) return nullptr;
    length = cut;
  }
}

// What was said of an inode at this path goes for its other names too, wherever the path leads from now on.
void ListMerger::let_go(const std::string& key, const SaidOfPath& said) {
  for (const SaidMetadata& each : said.metadata) {
    if (!each.shared) continue;
    const SaidOfPath* cover = cover_of(m_lists, key);
    if (cover == nullptr) {
      m_lists.before.push_back({path_of_key(key), each});
    } else if (cover->where == Whereabouts::kept) {
      m_lists.anchors.push_back({cover->generation, path_of_key(key), each});
    }
  }
}

// An entry of which nothing is said, instead of all that was said of the path and of what is below it.
SaidOfPath& ListMerger::take_place_of(const std::string& key) {
  bool is_stale = false;
  const auto forget = [&](auto it) {
    let_go(it->first, it->second);
    const bool ours = it->second.where == Whereabouts::kept && it->second.generation == m_survivor;
    is_stale = is_stale || it->second.is_stale || ours;
  };
  const auto own = m_lists.paths.try_emplace(key).first;
  const auto end = m_lists.paths.lower_bound(end_of_below(key));
  // In two steps: letting go looks at the entries above.
  for (auto it = own; it != end; ++it) forget(it);
  m_lists.paths.erase(std::next(own), end);
  own->second = SaidOfPath{};
  own->second.is_stale = is_stale;
  own->second.order = m_lists.next_order++;
  return own->second;
}

Status ListMerger::add(const Change& change, std::uint64_t generation) {
  return std::visit([&](const auto& one) { return add_change(one, generation); }, change);
}

Status ListMerger::add_change(const Absent& change, std::uint64_t) {
  take_place_of(key_of(change.path)).where = change.lost ? Whereabouts::lost : Whereabouts::absent;
  return {};
}

Status ListMerger::add_change(const KeptEntry& change, std::uint64_t generation) {
  // An anchor is known by the metadata that follow.
  if (is_anchor(change.path)) return {};
  SaidOfPath& said = take_place_of(key_of(change.path));
  said.where = Whereabouts::kept;
  said.type = change.type;
  said.generation = generation;
  return {};
}

Status ListMerger::add_change(const OldMetadata& change, std::uint64_t generation) {
  SaidMetadata said{change.metadata, change.shared, m_lists.next_order++};
  if (is_anchor(change.path)) {
    m_lists.anchors.push_back({generation, change.path, std::move(said)});
    return {};
  }
  const std::string key = key_of(change.path);
  const SaidOfPath* cover = cover_of(m_lists, key);
  // Of something that is not there nothing can be said.
  if (cover != nullptr && cover->where != Whereabouts::kept) return {};
  std::vector<SaidMetadata>& all = m_lists.paths[key].metadata;
  // It is the same inode as before; only what was said of all its names is more than what is said of one.
  std::erase_if(all, [&](const SaidMetadata& each) { return !each.shared || said.shared; });
  all.push_back(std::move(said));
  return {};
}

}  // namespace nb::txn
