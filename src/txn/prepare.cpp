// SPDX-License-Identifier: Apache-2.0
#include "txn/prepare.hpp"

#include <sys/stat.h>

#include "base/failpoint.hpp"
#include "fs/metadata.hpp"
#include "txn/commit.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

constexpr std::uint32_t k_owner_all = 0700;
constexpr std::uint32_t k_owner_write = 0200;
constexpr std::size_t k_reserve_bytes = std::size_t{1} << 20;

std::string shown(const RelPath& path) { return path.is_root() ? "the root" : path.str(); }

// Not zeros: a compressing file system would keep no blocks for them.
Bytes reserve_content() {
  Bytes content(k_reserve_bytes);
  std::uint64_t state = 0x9E3779B97F4A7C15U;
  for (std::byte& each : content) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    each = static_cast<std::byte>(state >> 56);
  }
  return content;
}

Status check_staged(FileSet& set, const fs::Directory& fresh, const Place& op) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> staged, find_name(fresh, std::to_string(op.slot)));
  if (staged && matches(*staged, op.staged)) return {};
  NB_TRY(set.check_in_place());
  return fail(Errc::internal, "staged file of " + shown(op.path) + " is not what was planned");
}

}  // namespace

Prepare::Prepare(TransactionState& state)
    : m_set(state.set), m_stage(state.stage), m_numbers_last(state.numbers_last), m_live(m_set.root()) {}

Status Prepare::close_staged_directories() {
  NB_TRY_ASSIGN(RecordCursor cursor, m_stage.closing.read());
  cursor.to_end();
  while (true) {
    NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.previous());
    if (!record) return {};
    NB_TRY_ASSIGN(const StagedDirectory directory, decode_staged_directory(*record));
    NB_TRY(close_staged_directory(directory));
  }
}

Status Prepare::close_staged_directory(const StagedDirectory& directory) {
  LiveTree tree(*m_stage.directories.fresh);
  NB_TRY_ASSIGN(const RelPath top, RelPath::parse(std::to_string(directory.slot), Errc::internal));
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, tree.open_node(top.join(directory.below_slot)));
  // Renaming a directory into another writes its '..', which needs write permission on itself.
  const bool late = directory.below_slot.is_root() && (directory.mode & k_owner_write) == 0;
  if (late) m_late[directory.slot] = directory;
  NB_TRY_ASSIGN(const fs::Stat stat, node->stat());
  const std::uint32_t mode = late ? directory.mode | k_owner_all : directory.mode;
  if (stat.mode != mode) NB_TRY(node->set_mode(mode));
  return node->set_mtime(directory.mtime);
}

Status Prepare::check_operations() {
  NB_TRY_ASSIGN(m_root_stat, m_set.root().stat());
  NB_TRY(read_openers());
  NB_TRY(check_spool(m_stage.moves, &Prepare::check_move));
  NB_TRY(check_spool(m_stage.metadata, &Prepare::check_metadata));
  NB_TRY(check_spool(m_stage.ends, &Prepare::check_metadata));
  for (const OpenUp& opener : m_added) NB_TRY(m_stage.openers.append(encode(JournalOp(opener))));
  return {};
}

Status Prepare::check_spool(Spool& spool, Status (Prepare::*check)(const JournalOp&)) {
  NB_TRY_ASSIGN(RecordCursor cursor, spool.read());
  while (true) {
    NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.next());
    if (!record) return {};
    NB_TRY_ASSIGN(const JournalOp op, decode_journal_op(*record));
    NB_TRY((this->*check)(op));
  }
}

void Prepare::add_closer(const OpenUp& opener) {
  m_closers.emplace(opener.path.str(), OpenUp{opener.path, opener.directory, opener.new_mode, opener.old_mode});
}

Status Prepare::read_openers() {
  NB_TRY_ASSIGN(RecordCursor cursor, m_stage.openers.read());
  while (true) {
    NB_TRY_ASSIGN(const std::optional<ByteView> record, cursor.next());
    if (!record) return {};
    NB_TRY_ASSIGN(const JournalOp op, decode_journal_op(*record));
    const auto& opener = std::get<OpenUp>(op);
    m_opened.insert(hash_of(opener.path));
    NB_TRY(check_can_open(opener));
    add_closer(opener);
  }
}

// Whether this process may change the directory's mode: only the owner may, and what that means is best told by trying.
Status Prepare::check_can_open(const OpenUp& opener) {
  const Result<std::optional<fs::Stat>> live = m_live.find(opener.path);
  if (!live) {
    // Not to be reached before its own parent is opened up.
    if (live.error().code == Errc::not_permitted && is_below_opened(opener.path.parent())) return {};
    return tl::make_unexpected(live.error());
  }
  if (!*live || !matches(**live, opener.directory)) return {};
  if ((*live)->immutable) return fail(Errc::not_permitted, shown(opener.path) + " is immutable (chattr)");
  NB_TRY_ASSIGN(const std::unique_ptr<fs::Node> node, m_live.open_node(opener.path));
  const Status set = node->set_mode((*live)->mode);
  if (set) return {};
  return fail(set.error().code, "no permission to open up directory " + shown(opener.path), set.error().sys_errno);
}

bool Prepare::is_opened(const RelPath& path) const { return m_opened.contains(hash_of(path)); }

bool Prepare::is_below_opened(const RelPath& path) const {
  for (RelPath each = path;; each = each.parent()) {
    if (is_opened(each)) return true;
    if (each.is_root()) return false;
  }
}

Status Prepare::check_move(const JournalOp& op) {
  if (const auto* place = std::get_if<Place>(&op)) return check_place(*place);
  const auto& remove = std::get<Remove>(op);
  NB_TRY(check_parent(remove.path));
  return check_moved_away(remove.path);
}

Status Prepare::check_place(const Place& op) {
  NB_TRY(check_staged(m_set, *m_stage.directories.fresh, op));
  NB_TRY(check_parent(op.path));
  if (const auto late = m_late.find(op.slot); late != m_late.end()) {
    const std::uint32_t mode = late->second.mode;
    add_closer({op.path, op.staged, mode, mode | k_owner_all});
  }
  return check_moved_away(op.path);
}

Status Prepare::check_parent(const RelPath& path) {
  const RelPath parent_path = path.parent();
  if (m_any_checked && parent_path == m_checked_parent) return {};
  const Result<fs::Directory*> parent = m_live.parent_of(path);
  if (!parent) {
    // Not to be reached before it is opened up.
    if (parent.error().code == Errc::not_permitted && is_below_opened(parent_path)) return {};
    return tl::make_unexpected(parent.error());
  }
  if (*parent == nullptr) return fail(Errc::foreign_edit, "directory " + shown(parent_path) + " is gone");
  NB_TRY(check_parent_handle(**parent, parent_path));
  m_checked_parent = parent_path;
  m_any_checked = true;
  return {};
}

Status Prepare::check_parent_handle(fs::Directory& parent, const RelPath& parent_path) {
  NB_TRY_ASSIGN(const fs::Stat stat, parent.stat());
  if (!fs::same_mount(stat, m_root_stat) || (stat.mount_root && !parent_path.is_root())) {
    return fail(Errc::cross_device, shown(parent_path));
  }
  if (stat.immutable) return fail(Errc::not_permitted, shown(parent_path) + " is immutable (chattr)");
  m_parent_is_sticky = (stat.mode & S_ISVTX) != 0 && !fs::acts_as_owner(stat);
  if (parent.writable() || is_opened(parent_path)) return {};
  return fail(Errc::not_permitted, "no permission to change directory " + shown(parent_path));
}

// What stands at `path` now will be renamed away or replaced.
Status Prepare::check_moved_away(const RelPath& path) {
  const Result<std::optional<fs::Stat>> live = m_live.find(path);
  if (!live) {
    if (live.error().code == Errc::not_permitted && is_below_opened(path.parent())) return {};
    return tl::make_unexpected(live.error());
  }
  if (!*live) return {};
  const fs::Stat& stat = **live;
  if (stat.mount_root || !fs::same_mount(stat, m_root_stat)) return fail(Errc::cross_device, shown(path));
  if (stat.immutable) return fail(Errc::not_permitted, shown(path) + " is immutable (chattr)");
  if (m_parent_is_sticky && path.parent() == m_checked_parent && !fs::acts_as_owner(stat)) {
    return fail(Errc::not_permitted, shown(path) + " belongs to another user, in a directory with the sticky bit");
  }
  return stat.type == fs::FileType::directory ? open_for_moving(path, stat) : Status();
}

// Moving a directory away writes its '..' as well.
Status Prepare::open_for_moving(const RelPath& path, const fs::Stat& stat) {
  if (is_opened(path) || (fs::acts_as_owner(stat) && (stat.mode & k_owner_all) == k_owner_all)) return {};
  const Result<std::unique_ptr<fs::Directory>> directory = m_live.open_directory(path);
  if (directory && (*directory)->writable()) return {};
  OpenUp opener{path, ident_of(stat), stat.mode, stat.mode | k_owner_all};
  if (!m_numbers_last) opener.directory.inode = 0;
  NB_TRY(check_can_open(opener));
  m_opened.insert(hash_of(path));
  add_closer(opener);
  m_added.push_back(opener);
  return {};
}

Status Prepare::check_metadata(const JournalOp& op) {
  const RelPath& path = std::get<SetMetadata>(op).path;
  const Result<std::optional<fs::Stat>> live = m_live.find(path);
  if (!live) {
    if (live.error().code == Errc::not_permitted && is_below_opened(path.parent())) return {};
    return tl::make_unexpected(live.error());
  }
  if (!*live) return {};  // comes with a new directory
  if (!fs::same_mount(**live, m_root_stat)) return fail(Errc::cross_device, shown(path));
  if ((*live)->immutable) return fail(Errc::not_permitted, shown(path) + " is immutable (chattr)");
  return {};
}

Status hold_reserve_in(fs::Directory& directory) {
  NB_TRY(remove_if_there(directory, k_reserve_name));
  NB_TRY_ASSIGN(const std::unique_ptr<fs::File> file, directory.create_file(k_reserve_name));
  return file->write_at(0, reserve_content());
}

Status Prepare::hold_reserve() { return hold_reserve_in(*m_stage.directories.top); }

}  // namespace nb::txn
