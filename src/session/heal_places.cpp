// SPDX-License-Identifier: Apache-2.0
#include "session/heal_places.hpp"

#include <algorithm>
#include <set>

#include "fs/path_root.hpp"
#include "session/file_walk.hpp"
#include "session/source_setup.hpp"
#include "txn/small_file.hpp"

namespace nb::session {
namespace {

std::string shown_place(const FilePlace& place) {
  return place.path.str() + (place.generation ? " in generation " + std::to_string(*place.generation) : "");
}

Result<std::unique_ptr<fs::File>> open_below(const fs::Directory& top, const RelPath& path) {
  NB_TRY_ASSIGN(const auto parent, top.open_directory_path(path.parent()));
  return parent->open_file(path.name(), fs::OpenMode::read);
}

}  // namespace

Result<HealPlaces> HealPlaces::open(txn::FileSet& set, KnownContents& contents, const HealOptions& options) {
  HealPlaces places(set, contents);
  NB_TRY_ASSIGN(const txn::History history, txn::History::open(set));
  places.m_numbers.assign(history.numbers().rbegin(), history.numbers().rend());
  if (!options.from) return places;
  NB_TRY_ASSIGN(const fs::PathRoot bounds, fs::PathRoot::open(options.stay_within));
  NB_TRY_ASSIGN(places.m_from, bounds.open_directory(*options.from));
  places.m_from_name = *options.from;
  return places;
}

// The damaged inode itself is no help, by whatever name.
void HealPlaces::add(std::vector<HealPlace>& places, const FilePlace& place, const txn::Damaged& file) {
  Result<std::unique_ptr<fs::File>> opened = fail(Errc::not_found, "");
  if (!place.generation) {
    opened = open_below(m_set.root(), place.path);
  } else if (const auto files = txn::open_kept_files(m_set, *place.generation)) {
    opened = open_below(**files, place.path);
  }
  if (!opened) return;
  const auto stat = (*opened)->stat();
  if (stat && stat->inode != file.inode) places.push_back({std::move(*opened), shown_place(place)});
}

Result<std::vector<HealPlace>> HealPlaces::of_path(const txn::Damaged& file) {
  std::vector<HealPlace> places;
  add(places, {std::nullopt, file.path}, file);
  for (const std::uint64_t number : m_numbers) add(places, {number, file.path}, file);
  if (!m_from) return places;
  auto opened = open_below(*m_from, file.path);
  if (opened) places.push_back({std::move(*opened), m_from_name + "/" + file.path.str()});
  return places;
}

std::vector<HealPlace> HealPlaces::of_content(const txn::Damaged& file) {
  std::vector<HealPlace> places;
  if (m_contents.manifest() == nullptr) return places;
  for (const RelPath& path : m_contents.manifest()->find_by_content(file.digest, file.size)) {
    add(places, {std::nullopt, path}, file);
  }
  return places;
}

Result<std::vector<HealPlace>> HealPlaces::anywhere(const txn::Damaged& file, const std::vector<txn::Damaged>& all) {
  NB_TRY(search(all));
  std::vector<HealPlace> places;
  const auto [begin, end] = m_by_content.equal_range(file.digest);
  for (auto it = begin; it != end; ++it) add(places, it->second, file);
  return places;
}

Status HealPlaces::search(const std::vector<txn::Damaged>& all) {
  if (std::exchange(m_searched, true)) return {};
  std::set<hash::Digest> wanted;
  std::set<std::uint64_t> damaged;
  for (const txn::Damaged& each : all) {
    wanted.insert(each.digest);
    damaged.insert(each.inode);
  }
  m_contents.store().for_each_of([&](const cache::Content& content) { return wanted.contains(content.digest); },
                                 [&](std::uint64_t inode, const cache::Content& content) {
                                   if (!damaged.contains(inode)) m_inodes.emplace(inode, content.digest);
                                 });
  if (m_inodes.empty()) return {};
  return walk_set(m_set, m_numbers, [this](const FilePlace& place, const fs::Stat& stat) -> Status {
    const auto found = m_inodes.find(stat.inode);
    if (found != m_inodes.end()) m_by_content.emplace(found->second, place);
    return {};
  });
}

}  // namespace nb::session
