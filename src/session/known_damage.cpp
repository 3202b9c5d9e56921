// SPDX-License-Identifier: Apache-2.0
#include "session/known_damage.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "session/file_walk.hpp"
#include "session/interrupt.hpp"
#include "txn/history.hpp"
#include "txn/scrub_record.hpp"

namespace nb::session {

void KnownDamage::add(txn::FileSet& set) {
  const auto listed = txn::read_damage(set.control());
  if (!listed) {
    m_trouble = Error{Errc::unreadable, listed.error().sys_errno,
                      "the list of damaged files, .nbackup/damage (nbackup scrub makes it anew)"};
    return;
  }
  for (const txn::Damaged& each : *listed) m_files.emplace(each.inode, each);
}

bool KnownDamage::has(const fs::Stat& stat) const {
  if (m_files.empty()) return false;
  const auto [begin, end] = m_files.equal_range(stat.inode);
  return std::any_of(begin, end, [&](const auto& each) {
    return m_is_past ? each.second.is_in_the_past(stat) : each.second.is(stat);
  });
}

namespace {

// Looks for files by their inodes.
class InodeSearch {
 public:
  InodeSearch(txn::FileSet& set, std::map<std::uint64_t, txn::Damaged> lost) : m_set(set), m_lost(std::move(lost)) {}

  // What lies where nobody may look is as good as gone, or each push would walk through the set for it.
  Result<std::vector<txn::Damaged>> run() {
    NB_TRY(walk(std::nullopt, m_set.root()));
    NB_TRY_ASSIGN(const txn::History history, txn::History::open(m_set));
    for (const std::uint64_t number : history.numbers()) {
      if (m_lost.empty()) break;
      const auto files = txn::open_kept_files(m_set, number);
      if (files) NB_TRY(walk(number, **files));
    }
    return std::move(m_found);
  }

 private:
  Status walk(const std::optional<std::uint64_t>& generation, fs::Directory& top) {
    FileWalk walk;
    walk.tree = generation ? WalkedTree::kept : WalkedTree::live;
    walk.visit = [&](fs::Directory& directory, const RelPath& path) -> Status {
      if (!may_go_on()) return fail(Errc::interrupted, "");
      const auto stat = directory.stat_at(path.name());
      if (stat) look(generation, path, *stat);
      return m_lost.empty() ? fail(k_all_found, "") : Status{};
    };
    walk.unreadable = [](const RelPath&, const Error&) -> Status { return {}; };
    const Status done = walk_files(top, walk);
    return done || done.error().code != k_all_found ? done : Status{};
  }

  void look(const std::optional<std::uint64_t>& generation, const RelPath& path, const fs::Stat& stat) {
    const auto lost = m_lost.find(stat.inode);
    if (lost == m_lost.end() || !lost->second.is(stat)) return;
    lost->second.generation = generation;
    lost->second.path = path;
    m_found.push_back(std::move(lost->second));
    m_lost.erase(lost);
  }

  static constexpr Errc k_all_found = Errc::timeout;  // no walk over files ends with it
  txn::FileSet& m_set;
  std::map<std::uint64_t, txn::Damaged> m_lost;  // by inode
  std::vector<txn::Damaged> m_found;
};

}  // namespace

Result<std::vector<txn::Damaged>> KnownDamage::find(txn::FileSet& set, const std::vector<txn::Damaged>& files) {
  NB_TRY_ASSIGN(auto found, txn::find_again(set, files));
  std::map<std::uint64_t, txn::Damaged> lost;
  for (const txn::Damaged& each : files) lost.emplace(each.inode, each);
  for (const txn::Damaged& each : found) lost.erase(each.inode);
  if (lost.empty()) return found;
  NB_TRY_ASSIGN(auto rest, InodeSearch(set, std::move(lost)).run());
  found.insert(found.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return found;
}

std::size_t KnownDamage::settle(txn::FileSet& set) {
  const auto any = txn::read_damage(set.control());
  if (!any || any->empty()) return 0;
  const auto lock = txn::take_scrub_lock(set);
  // Once more under the lock: a scrub that has just ended may have added to it.
  const auto listed = txn::read_damage(set.control());
  if (!listed) return any->size();
  const auto found = find(set, *listed);
  if (!found) return listed->size();
  if (lock) static_cast<void>(txn::write_damage(set.control(), *found));
  return found->size();
}

}  // namespace nb::session
