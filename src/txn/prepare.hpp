// SPDX-License-Identifier: Apache-2.0
// Prepare: everything that can go wrong at apply and can be known before, is found here, while the set is still the old
// generation.
#pragma once

#include <map>
#include <unordered_set>

#include "txn/live_tree.hpp"
#include "txn/stage.hpp"

namespace nb::txn {

// What closes an opened directory again, by path: of its operations that have no end of their own.
using Closers = std::multimap<std::string, OpenUp>;

// Makes the file `reserve` in `directory`, in place of one that is there.
Status hold_reserve_in(fs::Directory& directory);

struct TransactionState;

class Prepare {
 public:
  explicit Prepare(TransactionState& state);

  // Staged directories get their final modes and times. A top directory that its mode would keep from being renamed
  // stays writable; closers() has its mode.
  Status close_staged_directories();
  // Checks every operation, and adds the opening of directories that must be writable to be moved away.
  Status check_operations();
  // Blocks that are given back right before apply, so that renames into full directories find room.
  Status hold_reserve();
  [[nodiscard]] const Closers& closers() const { return m_closers; }

 private:
  Status close_staged_directory(const StagedDirectory& directory);
  Status read_openers();
  Status check_can_open(const OpenUp& opener);
  Status check_move(const JournalOp& op);
  Status check_place(const Place& op);
  Status check_parent(const RelPath& path);
  Status check_parent_handle(fs::Directory& parent, const RelPath& parent_path);
  Status check_moved_away(const RelPath& path);
  Status check_spool(Spool& spool, Status (Prepare::*check)(const JournalOp&));
  Status check_metadata(const JournalOp& op);
  Status open_for_moving(const RelPath& path, const fs::Stat& stat);
  [[nodiscard]] bool is_opened(const RelPath& path) const;
  [[nodiscard]] bool is_below_opened(const RelPath& path) const;
  void add_closer(const OpenUp& opener);

  FileSet& m_set;
  Stage& m_stage;
  const bool m_numbers_last;
  LiveTree m_live;
  fs::Stat m_root_stat;
  std::map<std::uint64_t, StagedDirectory> m_late;  // slot -> top directory with its final mode
  std::unordered_set<std::uint64_t> m_opened;       // hashes of paths
  std::vector<OpenUp> m_added;
  Closers m_closers;
  RelPath m_checked_parent;
  bool m_any_checked = false;
  bool m_parent_is_sticky = false;  // of m_checked_parent: its files can be moved by their owners alone
};

}  // namespace nb::txn
