// SPDX-License-Identifier: Apache-2.0
// The changing half of SimDirectory: each call passes the gate, checks what Linux checks, and commits one NameChange.
#include <cerrno>

#include "base/assert.hpp"
#include "fs/sim_file.hpp"
#include "fs/sim_handle.hpp"

namespace nb::fs::sim {
namespace {

constexpr std::uint32_t k_owner_write = 0200;
constexpr std::uint32_t k_owner_write_search = 0300;

SimDirectory& as_sim(Directory& directory) {
  auto* sim = dynamic_cast<SimDirectory*>(&directory);
  NB_ASSERT(sim != nullptr);
  return *sim;
}

std::string context(std::string_view operation, std::string_view name) {
  return std::string(operation) + ": " + std::string(name);
}

std::string context_pair(std::string_view operation, std::string_view from, std::string_view to) {
  return context(operation, from).append(" -> ").append(to);
}

NameChange name_change(NameChange::Kind kind, InodeNumber directory, std::string_view name, InodeNumber inode) {
  NameChange change;
  change.kind = kind;
  change.directory = directory;
  change.name = name;
  change.inode = inode;
  return change;
}

}  // namespace

Status SimDirectory::check_changeable(std::string_view operation) const {
  const Inode& inode = handle().inode();
  if (inode.links == 0) return fail_errno(std::string(operation) + ": directory is gone", ENOENT);
  if (inode.immutable) return fail_errno(std::string(operation) + ": directory is immutable", EPERM);
  const bool open = (inode.attributes.mode & k_owner_write_search) == k_owner_write_search;
  if (state().options.enforce_modes && !open) return fail_errno(std::string(operation), EACCES);
  return {};
}

Status SimDirectory::check_movable(InodeNumber number, std::string_view operation) const {
  const Inode& inode = state().inode(number);
  if (inode.immutable) return fail_errno(context(operation, inode.name), EPERM);
  if (inode.mount_root) return fail_errno(context(operation, inode.name), EBUSY);
  return {};
}

Status SimDirectory::check_free(std::string_view operation, std::string_view name) const {
  NB_ASSERT(is_safe_name(name));
  if (state().names.find(handle().number(), name) == k_no_inode) return {};
  return fail_errno(context(operation, name), EEXIST);
}

Result<InodeNumber> SimDirectory::create(std::string_view operation, std::string_view name, FileType type) {
  NB_TRY(check_free(operation, name));
  NB_TRY(check_changeable(operation));
  const InodeNumber made = state().make_inode(type, handle().number());
  NameChange change = name_change(NameChange::Kind::add, handle().number(), name, made);
  change.is_directory = type == FileType::directory;
  state().commit(std::move(change));
  return made;
}

Result<std::unique_ptr<File>> SimDirectory::create_file(std::string_view name, std::uint32_t mode) {
  const auto lock = handle().lock();
  NB_TRY(state().enter(SimOperation::create_file, handle().number(), name));
  NB_TRY_ASSIGN(const InodeNumber made, create("create", name, FileType::regular));
  // As the rest of a new inode: what it is made with is not lost before it is.
  state().inode(made).attributes.mode = state().inode(made).durable_attributes.mode = mode;
  return std::make_unique<SimFile>(handle_on(made), OpenMode::read_write);
}

Result<std::unique_ptr<Directory>> SimDirectory::create_directory(std::string_view name) {
  const auto lock = handle().lock();
  NB_TRY(state().enter(SimOperation::create_directory, handle().number(), name));
  NB_TRY_ASSIGN(const InodeNumber made, create("mkdir", name, FileType::directory));
  return std::make_unique<SimDirectory>(handle_on(made));
}

Status SimDirectory::create_symlink(std::string_view name, const std::string& target) {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::create_symlink, handle().number(), name));
  if (gate == Gate::pretend) return {};
  if (target.empty() || target.find('\0') != std::string::npos) {
    return fail(Errc::path, context("symlink", name), EINVAL);
  }
  if (target.size() > k_max_path_bytes) return fail_errno(context("symlink", name), ENAMETOOLONG);
  NB_TRY_ASSIGN(const InodeNumber made, create("symlink", name, FileType::symlink));
  state().inode(made).target = target;
  return {};
}

Status SimDirectory::create_node(std::string_view name, FileType type, DeviceNumber number) {
  const bool device = type == FileType::char_device || type == FileType::block_device;
  NB_ASSERT(device || type == FileType::fifo || type == FileType::socket);
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::create_node, handle().number(), name));
  if (gate == Gate::pretend) return {};
  NB_TRY_ASSIGN(const InodeNumber made, create("mknod", name, type));
  if (device) state().inode(made).node = number;
  return {};
}

Status SimDirectory::link(std::string_view name, Directory& to, std::string_view new_name) {
  const auto lock = handle().lock();
  SimDirectory& target = as_sim(to);
  const InodeNumber to_number = target.handle().number();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::link, handle().number(), name, to_number, new_name));
  if (gate == Gate::pretend) return {};
  const std::string what = context_pair("link", name, new_name);
  NB_TRY_ASSIGN(const InodeNumber number, look_up("link", name));
  NB_TRY(target.check_free("link", new_name));
  const Inode& inode = state().inode(number);
  if (inode.mount != target.handle().inode().mount) return fail_errno(what, EXDEV);
  NB_TRY(target.check_changeable("link"));
  if (inode.immutable || inode.type == FileType::directory || !state().options.hard_links) {
    return fail_errno(what, EPERM);
  }
  state().commit(name_change(NameChange::Kind::add, to_number, new_name, number));
  state().change_ctime(number);
  return {};
}

Status SimDirectory::check_rename(const NameChange& change, const SimDirectory& to, RenameMode mode) const {
  const std::string what = context_pair("rename", change.name, change.to_name);
  const bool taken = change.replaced != k_no_inode;
  if (taken && mode == RenameMode::no_replace) return fail_errno(what, EEXIST);
  if (change.is_directory && state().names.is_above(change.inode, change.to_directory)) {
    return fail_errno(what, EINVAL);
  }
  NB_TRY(check_changeable("rename"));
  NB_TRY(to.check_changeable("rename"));
  NB_TRY(check_movable(change.inode, "rename"));
  // A directory that gets another parent has its '..' written.
  const bool writes_moved = change.is_directory && change.directory != change.to_directory;
  const std::uint32_t mode_bits = state().inode(change.inode).attributes.mode;
  if (state().options.enforce_modes && writes_moved && (mode_bits & k_owner_write) == 0) {
    return fail_errno(what, EACCES);
  }
  if (!taken) return {};
  NB_TRY(check_movable(change.replaced, "rename"));
  const bool onto_directory = state().inode(change.replaced).type == FileType::directory;
  if (onto_directory != change.is_directory) return fail(Errc::path, what, onto_directory ? EISDIR : ENOTDIR);
  if (!state().names.names(change.replaced).empty()) return fail_errno(what, ENOTEMPTY);
  return {};
}

// As the real one does it where rename(2) cannot leave a name alone.
Status SimDirectory::rename_in_two_steps(std::string_view name, Directory& to, std::string_view new_name) {
  const Status linked = link(name, to, new_name);
  if (!linked && linked.error().code != Errc::exists) return linked;
  if (!linked &&
      state().names.find(handle().number(), name) != state().names.find(as_sim(to).handle().number(), new_name)) {
    return linked;
  }
  return remove_file(name);
}

Status SimDirectory::rename(std::string_view name, Directory& to, std::string_view new_name, RenameMode mode) {
  NB_ASSERT(is_safe_name(new_name));
  const auto lock = handle().lock();
  if (mode == RenameMode::no_replace && !state().options.moves_at_once) {
    NB_TRY_ASSIGN(const InodeNumber moved, look_up("rename", name));
    if (state().inode(moved).type != FileType::directory) return rename_in_two_steps(name, to, new_name);
  }
  SimDirectory& target = as_sim(to);
  const InodeNumber to_number = target.handle().number();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::rename, handle().number(), name, to_number, new_name));
  if (gate == Gate::pretend) return {};
  if (handle().inode().mount != target.handle().inode().mount) {
    return fail_errno(context_pair("rename", name, new_name), EXDEV);
  }
  NB_TRY_ASSIGN(const InodeNumber number, look_up("rename", name));
  NameChange change = name_change(NameChange::Kind::move, handle().number(), name, number);
  change.is_directory = state().inode(number).type == FileType::directory;
  change.to_directory = to_number;
  change.to_name = new_name;
  change.replaced = state().names.find(to_number, new_name);
  // As rename(2): two names of one inode stay as they are.
  if (change.replaced == number && mode == RenameMode::replace) return {};
  NB_TRY(check_rename(change, target, mode));
  const InodeNumber replaced = change.replaced;
  state().commit(std::move(change));
  state().change_ctime(number);
  if (replaced != k_no_inode) state().change_ctime(replaced);
  return {};
}

Status SimDirectory::remove(std::string_view operation, std::string_view name, InodeNumber number) {
  NB_TRY(check_changeable(operation));
  NB_TRY(check_movable(number, operation));
  NameChange change = name_change(NameChange::Kind::remove, handle().number(), name, number);
  change.is_directory = state().inode(number).type == FileType::directory;
  state().commit(std::move(change));
  state().change_ctime(number);
  return {};
}

Status SimDirectory::remove_file(std::string_view name) {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::remove_file, handle().number(), name));
  if (gate == Gate::pretend) return {};
  NB_TRY_ASSIGN(const InodeNumber number, look_up("remove", name));
  if (state().inode(number).type == FileType::directory) return fail(Errc::path, context("remove", name), EISDIR);
  return remove("remove", name, number);
}

Status SimDirectory::remove_directory(std::string_view name) {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::remove_directory, handle().number(), name));
  if (gate == Gate::pretend) return {};
  NB_TRY_ASSIGN(const InodeNumber number, look_up("remove directory", name));
  if (state().inode(number).type != FileType::directory) {
    return fail(Errc::path, context("remove directory", name), ENOTDIR);
  }
  if (state().inode(number).mount_root) return fail_errno(context("remove directory", name), EBUSY);
  if (!state().names.names(number).empty()) return fail_errno(context("remove directory", name), ENOTEMPTY);
  return remove("remove directory", name, number);
}

Status SimDirectory::sync() {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::sync_directory, handle().number()));
  if (gate == Gate::proceed) state().sync_directory(handle().number(), State::SyncResult::done);
  return {};
}

Status SimDirectory::sync_file_system() {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::sync_file_system, handle().number()));
  if (gate == Gate::proceed) state().sync_device(handle().inode().device, State::SyncResult::done);
  return {};
}

}  // namespace nb::fs::sim
