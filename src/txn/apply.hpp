// SPDX-License-Identifier: Apache-2.0
// Redo and undo of journal operations on the live tree. Whether an operation has been done is decided by what exists at
// its slot names, which are never used twice, so each of these may be repeated after any interruption:
//
//   new/<slot>  old/<slot>  live            Place with `replaced`
//   there       -           old             to do
//   there       there       old, linked     first half done (hard link)
//   there       there       -               first half done (rename: a directory is involved or links are refused)
//   -           there       new             done
//
// Without `replaced`, or where the old file had gone by itself, there is no old/<slot>, and done is when new/<slot> has
// gone. A move to a free name may be made of a link and an unlink (fs::Directory::rename): cut off between the two it has
// left both names, and the one that it was to leave is dropped. What is found at the live name and is neither is someone
// else's edit: it goes to Conflicts.
#pragma once

#include "txn/conflicts.hpp"
#include "txn/journal.hpp"
#include "txn/live_tree.hpp"

namespace nb::txn {

struct ApplyContext {
  LiveTree live;
  fs::Directory& control;
  fs::Directory& fresh;  // tx/<id>/new
  fs::Directory& old;    // tx/<id>/old
  Conflicts conflicts;
  std::unique_ptr<fs::Directory> filed = nullptr;  // history/<generation>, once there is one to be synced
};

// Where the first attempt opened the directories up by journal operations alone, a later one finds some of them closed
// by the final modes.
enum class Attempt : std::uint8_t { first, again };

// Brings the live tree to the new generation. An error leaves it half way; the journal can then be undone.
Status redo(const Journal& journal, ApplyContext& context, Attempt attempt);
// Brings it back to the old generation, and what was staged back to new/.
Status undo(const Journal& journal, ApplyContext& context);

// --- one operation (redo_op.cpp, undo_op.cpp) ---
Status link_replaced(const Place& op, ApplyContext& context);
Status redo_op(const Place& op, ApplyContext& context);
Status redo_op(const Remove& op, ApplyContext& context);
Status redo_op(const SetMetadata& op, ApplyContext& context);
Status redo_op(const OpenUp& op, ApplyContext& context);
Status undo_op(const Place& op, ApplyContext& context);
Status undo_op(const Remove& op, ApplyContext& context);
Status undo_op(const SetMetadata& op, ApplyContext& context);
// Gives a directory u+rwx if it is still the one meant.
Status open_directory_up(const RelPath& path, const Ident& directory, ApplyContext& context);
// The file that `op` means, before it or after it (then perhaps set through another link of the same file).
[[nodiscard]] bool is_target(const fs::Stat& live, const SetMetadata& op);
// Nothing but the time is meant to change. What else stands there, perhaps by somebody's hand since, is left alone.
[[nodiscard]] bool is_time_only(const fs::Metadata& from, const fs::Metadata& to);
// Literal values: owner, extended attributes, mode, mtime, in this order.
Status set_metadata(fs::Node& node, const fs::Metadata& from, const fs::Metadata& to);

}  // namespace nb::txn
