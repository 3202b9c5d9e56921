// SPDX-License-Identifier: Apache-2.0
#include "session/known_damage.hpp"

#include <algorithm>

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
  return std::any_of(begin, end, [&](const auto& each) { return each.second.is(stat); });
}

std::size_t KnownDamage::settle(txn::FileSet& set) {
  const auto any = txn::read_damage(set.control());
  if (!any || any->empty()) return 0;
  const auto lock = txn::take_scrub_lock(set);
  // Once more under the lock: a scrub that has just ended may have added to it.
  const auto listed = txn::read_damage(set.control());
  if (!listed) return any->size();
  const auto found = txn::find_again(set, *listed);
  if (!found) return listed->size();
  if (lock) static_cast<void>(txn::write_damage(set.control(), *found));
  return found->size();
}

}  // namespace nb::session
