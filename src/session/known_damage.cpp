// SPDX-License-Identifier: Apache-2.0
#include "session/known_damage.hpp"

#include <algorithm>
#include <utility>

#include "session/file_walk.hpp"
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

// What lies where nobody may look is as good as gone, or each push would walk through the set for it.
Result<std::vector<txn::Damaged>> KnownDamage::find(txn::FileSet& set, const std::vector<txn::Damaged>& files) {
  NB_TRY_ASSIGN(auto found, txn::find_again(set, files));
  std::map<std::uint64_t, txn::Damaged> lost;  // by inode
  for (const txn::Damaged& each : files) lost.emplace(each.inode, each);
  for (const txn::Damaged& each : found) lost.erase(each.inode);
  if (lost.empty()) return found;
  constexpr Errc k_all_found = Errc::timeout;  // no walk through a set ends with it
  NB_TRY_ASSIGN(const txn::History history, txn::History::open(set));
  const Status done = walk_set(set, history.numbers(), [&](const txn::ScrubPlace& place, const fs::Stat& stat) {
    const auto it = lost.find(stat.inode);
    if (it == lost.end() || !it->second.is(stat)) return Status{};
    it->second.generation = place.generation;
    it->second.path = place.path;
    found.push_back(std::move(it->second));
    lost.erase(it);
    return lost.empty() ? fail(k_all_found, "") : Status{};
  });
  if (!done && done.error().code != k_all_found) return tl::make_unexpected(done.error());
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
