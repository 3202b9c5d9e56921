// SPDX-License-Identifier: Apache-2.0
// KnownDamage: the files that a scrub has found damaged, for those who transfer. A sink treats what it has of them as
// worth nothing, so that a source that still has the content sends it anew; a source does not pass them on.
#pragma once

#include <map>

#include "txn/damage.hpp"

namespace nb::session {

class KnownDamage {
 public:
  KnownDamage() = default;
  // What is on the list of `set`. One that cannot be read says nothing but trouble(): the next scrub makes it anew.
  void add(txn::FileSet& set);

  // For whom it matters that damaged files may pass for sound ones. Errc::unreadable.
  [[nodiscard]] const std::optional<Error>& trouble() const { return m_trouble; }

  [[nodiscard]] bool empty() const { return m_files.empty(); }
  // By any name of the inode.
  [[nodiscard]] bool has(const fs::Stat& stat) const;
  // What is asked about has the times of an earlier generation.
  void look_at_the_past() { m_is_past = true; }
  // The same files where they are now, under any of their names. What is gone, or was changed, is left out. Where the
  // name of one has gone, the whole set is walked through once for them. For scrub, heal and settle().
  static Result<std::vector<txn::Damaged>> find(txn::FileSet& set, const std::vector<txn::Damaged>& files);
  // After a commit: the list says where its files are now; how many there are. One that a scrub has in hands stays.
  static std::size_t settle(txn::FileSet& set);

 private:
  std::multimap<std::uint64_t, txn::Damaged> m_files;  // by inode
  bool m_is_past = false;
  std::optional<Error> m_trouble;
};

}  // namespace nb::session
