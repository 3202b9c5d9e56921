// SPDX-License-Identifier: Apache-2.0
// One operation forward. See the table in apply.hpp.
#include "base/failpoint.hpp"
#include "txn/apply.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

using fs::FileType;
using fs::RenameMode;

bool is_directory(const fs::Stat& stat) { return stat.type == FileType::directory; }

// The staged file as the journal describes it. The inode is not asked for: the slot name is ours alone, and a set whose
// file system gives out new inode numbers at each mount can still be finished.
Status check_staged(const fs::Stat& found, const Place& op) {
  const bool fits = found.type == op.staged.type && (found.type != FileType::regular || found.size == op.staged.size);
  if (fits) return {};
  return fail(Errc::bad_set, "staged file of " + op.path.str() + " is not what the journal says");
}

struct Target {
  fs::Directory* parent = nullptr;
  std::string_view name;
  std::string slot;
};

Status move_in(const Target& target, ApplyContext& context) {
  return context.fresh.rename(target.slot, *target.parent, target.name, RenameMode::no_replace);
}

// First half: the old file gets its second name. A file system may refuse links (FAT, too many links, files of others
// under protected_hardlinks): then the old file is moved, and its name is absent for a moment.
enum class Kept : std::uint8_t { linked, moved };
Result<Kept> keep_old(const Target& target, const fs::Stat& live, const fs::Stat& staged, ApplyContext& context) {
  if (!is_directory(live) && !is_directory(staged)) {
    if (target.parent->link(target.name, context.old, target.slot)) return Kept::linked;
  }
  NB_TRY(target.parent->rename(target.name, context.old, target.slot, RenameMode::no_replace));
  return Kept::moved;
}

// The live name is a link to the staged file itself: putting it there means dropping the staged name, since rename(2)
// between two links of one file does nothing.
Status drop_staged_link(const Target& target, const Place& op, const fs::Stat& live, bool has_old,
                        ApplyContext& context) {
  if (!has_old && op.replaced && matches(live, *op.replaced)) {
    NB_TRY(target.parent->link(target.name, context.old, target.slot));
  }
  return context.fresh.remove_file(target.slot);
}

Status replace(const Target& target, const fs::Stat& live, const fs::Stat& staged, bool has_old,
               ApplyContext& context) {
  Kept kept = Kept::linked;
  if (!has_old) {
    NB_TRY_ASSIGN(kept, keep_old(target, live, staged, context));
  } else if (is_directory(staged)) {
    // Its move was cut off with both names there.
    NB_TRY(target.parent->remove_file(target.name));
    kept = Kept::moved;
  }
  NB_FAILPOINT("txn.apply.kept_old");
  if (kept == Kept::moved) return move_in(target, context);
  return context.fresh.rename(target.slot, *target.parent, target.name, RenameMode::replace);
}

// A move that is made of a link and an unlink can be cut off between them; anything else that has come to the name since
// is not ours to take.
Status drop_half_moved(fs::Directory& parent, std::string_view name, const fs::Stat& live, const fs::Stat& old) {
  return same_inode(live, old) ? parent.remove_file(name) : Status();
}

Status place(const Target& target, const Place& op, const fs::Stat& staged, ApplyContext& context) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, find_name(*target.parent, target.name));
  if (!live) return move_in(target, context);
  NB_TRY_ASSIGN(const std::optional<fs::Stat> old, find_name(context.old, target.slot));
  if (same_inode(*live, staged)) return drop_staged_link(target, op, *live, old.has_value(), context);
  const bool expected = op.replaced && matches(*live, *op.replaced) && (!old || same_inode(*live, *old));
  if (expected) return replace(target, *live, staged, old.has_value(), context);
  NB_TRY(context.conflicts.take(*target.parent, target.name, op.slot, op.path));
  NB_FAILPOINT("txn.apply.conflict");
  return move_in(target, context);
}

}  // namespace

Status link_replaced(const Place& op, ApplyContext& context) {
  if (!op.replaced || op.replaced->type == FileType::directory || op.staged.type == FileType::directory) return {};
  const std::string slot = std::to_string(op.slot);
  NB_TRY_ASSIGN(const std::optional<fs::Stat> staged, find_name(context.fresh, slot));
  NB_TRY_ASSIGN(const std::optional<fs::Stat> old, find_name(context.old, slot));
  if (!staged || old) return {};
  NB_TRY_ASSIGN(fs::Directory* const parent, context.live.parent_of(op.path));
  if (parent == nullptr) return {};
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, find_name(*parent, op.path.name()));
  if (!live || !matches(*live, *op.replaced)) return {};
  // Where it is refused the second pass moves the file instead.
  static_cast<void>(parent->link(op.path.name(), context.old, slot));
  return failpoint("txn.apply.link");
}

Status redo_op(const Place& op, ApplyContext& context) {
  const std::string slot = std::to_string(op.slot);
  NB_TRY_ASSIGN(const std::optional<fs::Stat> staged, find_name(context.fresh, slot));
  if (!staged) return {};
  NB_TRY(check_staged(*staged, op));
  NB_TRY_ASSIGN(fs::Directory* const parent, context.live.parent_of(op.path));
  if (parent == nullptr) return fail(Errc::foreign_edit, "directory of " + op.path.str() + " is gone");
  Status placed = place({parent, op.path.name(), slot}, op, *staged, context);
  context.live.forget(op.path);
  return placed;
}

Status redo_op(const Remove& op, ApplyContext& context) {
  const std::string slot = std::to_string(op.slot);
  NB_TRY_ASSIGN(const std::optional<fs::Stat> old, find_name(context.old, slot));
  if (old && is_directory(*old)) return {};
  NB_TRY_ASSIGN(fs::Directory* const parent, context.live.parent_of(op.path));
  if (parent == nullptr) return {};
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, find_name(*parent, op.path.name()));
  if (!live) return {};
  if (old) return drop_half_moved(*parent, op.path.name(), *live, *old);
  Status moved = matches(*live, op.removed) ? parent->rename(op.path.name(), context.old, slot, RenameMode::no_replace)
                                            : context.conflicts.take(*parent, op.path.name(), op.slot, op.path);
  context.live.forget(op.path);
  return moved;
}

Status redo_op(const SetMetadata& op, ApplyContext& context) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, context.live.find(op.path));
  if (!live) return {};
  if (!is_target(*live, op)) {
    // Nothing of ours takes its place, so it stays: moving it away would only make a hole. Its metadata are left alone
    // too: with the source's mtime the next run would take someone else's content for ours.
    context.conflicts.note_in_place(op.path);
    return {};
  }
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, context.live.open_node(op.path));
  return set_metadata(*node, op.before, op.after);
}

Status open_directory_up(const RelPath& path, const Ident& directory, ApplyContext& context) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, context.live.find(path));
  if (!live || !matches(*live, directory) || (live->mode & 0700U) == 0700U) return {};
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, context.live.open_node(path));
  context.live.forget(path);
  return node->set_mode(live->mode | 0700U);
}

Status redo_op(const OpenUp& op, ApplyContext& context) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> live, context.live.find(op.path));
  if (!live || !matches(*live, op.directory) || live->mode == op.new_mode) return {};
  // Opening twice must not touch what the first pass has set.
  if (opens(op) && (live->mode & 0700U) == 0700U) return {};
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, context.live.open_node(op.path));
  context.live.forget(op.path);
  return node->set_mode(op.new_mode);
}

}  // namespace nb::txn
