// SPDX-License-Identifier: Apache-2.0
// Conflicts: what someone else put where the commit needed to write, kept under .nbackup/conflict/<id>/<slot>, with a
// note of its path in <slot>.path. Nothing in there is ever removed by nbackup.
#pragma once

#include <memory>
#include <vector>

#include "fs/directory.hpp"
#include "txn/records.hpp"

namespace nb::txn {

inline constexpr std::string_view k_conflict_name = "conflict";

class Conflicts {
 public:
  // `control` outlives this.
  Conflicts(fs::Directory& control, const TxId& id) : m_control(control), m_id(id) {}

  // Moves `name` in `parent`, which is what `path` names, out of the way; nothing if it has gone by itself. FUSE says for
  // a second that a name is there after it has gone by another that is the same to the file system.
  Status take(fs::Directory& parent, std::string_view name, std::uint64_t slot, const RelPath& path);
  // Puts back what take() moved for this slot, if it did and `name` is free.
  Status give_back(std::uint64_t slot, fs::Directory& parent, std::string_view name);
  // Reports a foreign edit that stays where it is.
  void note_in_place(const RelPath& path) { m_in_place.push_back(path); }
  // All that there is, also from an interrupted earlier attempt. Cannot fail, because by then the commit is through:
  // what has lost its note, or all if nothing can be read, is reported by its place under .nbackup/conflict/.
  std::vector<RelPath> all();
  // Removes the directories if nothing is in them.
  void tidy();

 private:
  Result<fs::Directory*> directory();  // nullptr if there is none yet
  Result<fs::Directory*> make_directory();
  Status add_taken(std::vector<RelPath>& paths);
  [[nodiscard]] RelPath place() const;
  fs::Directory& m_control;
  TxId m_id;
  std::unique_ptr<fs::Directory> m_directory;
  std::vector<RelPath> m_in_place;
};

}  // namespace nb::txn
