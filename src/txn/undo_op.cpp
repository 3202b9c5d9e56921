// SPDX-License-Identifier: Apache-2.0
// One operation backward. See the table in apply.hpp; undoing walks it upward, with a state of its own between: the new
// file linked back to new/<slot>, while old/<slot> is there and the live name still holds the new one.
#include "base/failpoint.hpp"
#include "txn/apply.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

using fs::FileType;
using fs::RenameMode;

struct Undoing {
  const RelPath& path;
  std::uint64_t slot;
  std::string slot_name;
  fs::Directory* parent;
  std::string_view name;
};

// The old file cannot go back because its directory has gone: kept where a person finds it.
Status rescue(const RelPath& path, std::uint64_t slot, ApplyContext& context) {
  const std::string name = std::to_string(slot);
  NB_TRY_ASSIGN(const std::optional<fs::Stat> old, find_name(context.old, name));
  if (!old) return {};
  return context.conflicts.take(context.old, name, slot, path);
}

// Brings the new file back to new/<slot>, by a link so that the name is never absent, or by a rename.
Status take_back(const Undoing& at, const fs::Stat& live, const std::optional<fs::Stat>& old, ApplyContext& context) {
  if (old && old->type != FileType::directory && live.type != FileType::directory) {
    if (at.parent->link(at.name, context.fresh, at.slot_name)) return {};
  }
  return at.parent->rename(at.name, context.fresh, at.slot_name, RenameMode::no_replace);
}

// First: afterwards new/<slot> is there if the new file still exists at all.
Status restore_staged(const Undoing& at, const Place& op, const std::optional<fs::Stat>& old, ApplyContext& context) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> staged, find_name(context.fresh, at.slot_name));
  const bool may_be_half_moved = !op.replaced && op.staged.type != FileType::directory;
  if (staged && !may_be_half_moved) return {};
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, find_name(*at.parent, at.name));
  if (!live) return {};
  // A move that is made of a link and an unlink was cut off between them, one way or the other.
  if (staged) return same_inode(*live, *staged) ? at.parent->remove_file(at.name) : Status();
  if (matches(*live, op.staged)) return take_back(at, *live, old, context);
  // Changed or replaced by someone else since it was placed.
  return context.conflicts.take(*at.parent, at.name, at.slot, at.path);
}

// Gives old/<slot> the live name again. The directory's closer sets its old mode again.
Status move_old(const Undoing& at, const fs::Stat& old, RenameMode mode, ApplyContext& context) {
  return move_back(context.old, at.slot_name, old, *at.parent, at.name, mode);
}

// Second: old/<slot> takes the live name again.
Status restore_old(const Undoing& at, ApplyContext& context) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> old, find_name(context.old, at.slot_name));
  if (!old) return {};
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, find_name(*at.parent, at.name));
  if (!live) return move_old(at, *old, RenameMode::no_replace, context);
  if (same_inode(*live, *old)) return context.old.remove_file(at.slot_name);
  NB_TRY_ASSIGN(const std::optional<fs::Stat> staged, find_name(context.fresh, at.slot_name));
  if (staged && same_inode(*live, *staged)) {
    if (old->type != FileType::directory) return move_old(at, *old, RenameMode::replace, context);
    NB_TRY(at.parent->remove_file(at.name));
    return move_old(at, *old, RenameMode::no_replace, context);
  }
  NB_TRY(context.conflicts.take(*at.parent, at.name, at.slot, at.path));
  return move_old(at, *old, RenameMode::no_replace, context);
}

}  // namespace

Status undo_op(const Place& op, ApplyContext& context) {
  NB_TRY_ASSIGN(fs::Directory* const parent, context.live.parent_of(op.path));
  if (parent == nullptr) return rescue(op.path, op.slot, context);
  const Undoing at{op.path, op.slot, std::to_string(op.slot), parent, op.path.name()};
  context.live.forget(op.path);
  NB_TRY_ASSIGN(const std::optional<fs::Stat> old, find_name(context.old, at.slot_name));
  NB_TRY(restore_staged(at, op, old, context));
  NB_FAILPOINT("txn.undo.staged");
  NB_TRY(restore_old(at, context));
  return context.conflicts.give_back(op.slot, *parent, at.name);
}

Status undo_op(const Remove& op, ApplyContext& context) {
  NB_TRY_ASSIGN(fs::Directory* const parent, context.live.parent_of(op.path));
  if (parent == nullptr) return rescue(op.path, op.slot, context);
  const Undoing at{op.path, op.slot, std::to_string(op.slot), parent, op.path.name()};
  context.live.forget(op.path);
  NB_TRY(restore_old(at, context));
  return context.conflicts.give_back(op.slot, *parent, at.name);
}

Status undo_op(const SetMetadata& op, ApplyContext& context) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, context.live.find(op.path));
  if (!live) return {};
  // Someone else's file, or the metadata of something that undoing has moved out: not ours to set.
  if (!is_target(*live, op)) return {};
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, context.live.open_node(op.path));
  return set_metadata(*node, op.after, op.before);
}

}  // namespace nb::txn
