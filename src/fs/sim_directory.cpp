// SPDX-License-Identifier: Apache-2.0
// SimFileSystem and the reading half of SimDirectory; sim_change.cpp has the changing half.
#include "fs/sim_directory.hpp"

#include <array>
#include <cerrno>

#include "base/assert.hpp"
#include "base/text.hpp"
#include "fs/sim_file.hpp"
#include "fs/sim_handle.hpp"

namespace nb::fs {
namespace sim {
namespace {

constexpr std::uint32_t k_owner_read = 0400;
constexpr std::uint32_t k_owner_write = 0200;
constexpr std::uint32_t k_owner_search = 0100;

Status check_mode(const State& state, const Inode& inode, std::uint32_t bits, std::string_view name) {
  if (!state.options.enforce_modes || (inode.attributes.mode & bits) == bits) return {};
  return fail_errno("open: " + std::string(name), EACCES);
}

tl::unexpected<Error> wrong_type(std::string_view name) {
  return fail(Errc::path, "open: wrong type: " + std::string(name));
}

}  // namespace

Handle SimDirectory::handle_on(InodeNumber number) const { return {handle().shared(), number}; }

Result<InodeNumber> SimDirectory::look_up(std::string_view operation, std::string_view name) const {
  NB_ASSERT(is_safe_name(name));
  NB_TRY(state().check_alive());
  NB_TRY(check_mode(state(), handle().inode(), k_owner_search, name));
  const InodeNumber found = state().names.find(handle().number(), name);
  if (found != k_no_inode) return found;
  return fail_errno(std::string(operation) + ": " + std::string(name), ENOENT);
}

Result<std::unique_ptr<Directory>> SimDirectory::reopen() const {
  const auto lock = handle().lock();
  NB_TRY(state().check_alive());
  NB_TRY(check_mode(state(), handle().inode(), k_owner_read | k_owner_search, "."));
  return std::make_unique<SimDirectory>(handle_on(handle().number()));
}

Result<std::vector<NamedType>> SimDirectory::list() const {
  const auto lock = handle().lock();
  NB_TRY(state().check_alive());
  std::vector<NamedType> all;
  for (const auto& [name, number] : state().names.names(handle().number())) {
    all.push_back({name, state().inode(number).type});
  }
  return all;
}

Result<Stat> SimDirectory::stat_at(std::string_view name) const {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const InodeNumber number, look_up("stat", name));
  return state().stat(number);
}

Result<Xattrs> SimDirectory::xattrs_at(std::string_view name) const {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const InodeNumber number, look_up("listxattr", name));
  return read_xattrs(state(), number);
}

Result<std::string> SimDirectory::read_link(std::string_view name) const {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const InodeNumber number, look_up("readlink", name));
  const Inode& inode = state().inode(number);
  if (inode.type != FileType::symlink) {
    return fail(Errc::path, "readlink: not a symlink: " + std::string(name), EINVAL);
  }
  return inode.target;
}

Result<std::unique_ptr<Node>> SimDirectory::open_node(std::string_view name) const {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const InodeNumber number, look_up("open", name));
  return std::make_unique<SimNode<Node>>(handle_on(number));
}

Result<std::unique_ptr<File>> SimDirectory::open_file(std::string_view name, OpenMode mode) const {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const InodeNumber number, look_up("open", name));
  const Inode& inode = state().inode(number);
  if (inode.type != FileType::regular) return wrong_type(name);
  const bool writing = mode == OpenMode::read_write;
  NB_TRY(check_mode(state(), inode, writing ? k_owner_read | k_owner_write : k_owner_read, name));
  if (writing && inode.immutable) return fail_errno("open: " + std::string(name), EPERM);
  return std::make_unique<SimFile>(handle_on(number), mode);
}

Result<std::unique_ptr<Directory>> SimDirectory::open_directory(std::string_view name) const {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const InodeNumber number, look_up("open directory", name));
  const Inode& inode = state().inode(number);
  if (inode.type != FileType::directory) return wrong_type(name);
  NB_TRY(check_mode(state(), inode, k_owner_read, name));
  return std::make_unique<SimDirectory>(handle_on(number));
}

Result<std::unique_ptr<Directory>> SimDirectory::open_directory_path(const RelPath& path) const {
  if (path.is_root()) return reopen();
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(std::unique_ptr<Directory> at, open_directory(split(path.str(), '/').front()));
  for (const std::string_view component : split(path.str(), '/')) {
    if (component.data() == path.str().data()) continue;  // the first one
    NB_TRY_ASSIGN(at, at->open_directory(component));
  }
  return at;
}

bool SimDirectory::sync_file_system_reports() const { return state().options.reports_sync_errors; }

Result<Space> SimDirectory::space() const {
  const auto lock = handle().lock();
  NB_TRY(state().check_alive());
  return Space{state().free_bytes(), state().options.total_bytes, std::numeric_limits<std::uint64_t>::max()};
}

bool SimDirectory::writable() const {
  const auto lock = handle().lock();
  const Inode& inode = handle().inode();
  return state().check_alive().has_value() && !inode.immutable && inode.links != 0 &&
         check_mode(state(), inode, k_owner_write | k_owner_search, ".").has_value();
}

}  // namespace sim

std::string_view to_string(SimOperation kind) {
  static constexpr std::array<std::string_view, 18> k_names{
      "create_file", "create_directory", "create_symlink",   "create_node", "write",          "set_size",
      "set_owner",   "set_mode",         "set_mtime",        "set_xattr",   "remove_xattr",   "link",
      "rename",      "remove_file",      "remove_directory", "sync_file",   "sync_directory", "sync_file_system"};
  return k_names.at(static_cast<std::size_t>(kind));
}

SimFileSystem::SimFileSystem(SimOptions options) : m_state(std::make_shared<sim::State>(options)) {}

SimFileSystem::SimFileSystem(std::shared_ptr<sim::State> state) : m_state(std::move(state)) {}

std::unique_ptr<Directory> SimFileSystem::root() const {
  const std::lock_guard lock(m_state->mutex);
  return std::make_unique<sim::SimDirectory>(sim::Handle(m_state, sim::k_root));
}

std::uint64_t SimFileSystem::operations() const {
  const std::lock_guard lock(m_state->mutex);
  return m_state->operations;
}

void SimFileSystem::die_at(std::uint64_t operation) {
  const std::lock_guard lock(m_state->mutex);
  m_state->die_at = operation;
}

void SimFileSystem::fail_at(std::uint64_t operation, int sys_errno) {
  const std::lock_guard lock(m_state->mutex);
  m_state->fail_at[operation] = sys_errno;
}

void SimFileSystem::on_operation(std::function<void(const SimEvent&)> hook) {
  const std::lock_guard lock(m_state->mutex);
  m_state->hook = std::move(hook);
}

void SimFileSystem::ignore(SimOperation kind) {
  NB_ASSERT(kind != SimOperation::create_file && kind != SimOperation::create_directory);
  const std::lock_guard lock(m_state->mutex);
  m_state->ignored.insert(kind);
}

SimFileSystem SimFileSystem::after_crash(CrashChoice choice) const {
  const std::lock_guard lock(m_state->mutex);
  return SimFileSystem(m_state->after_crash(choice));
}

void SimFileSystem::go_on() {
  const std::lock_guard lock(m_state->mutex);
  m_state->go_on();
}

void SimFileSystem::set_immutable(std::string_view path) {
  const std::lock_guard lock(m_state->mutex);
  m_state->inode(m_state->find_path(path)).immutable = true;
}

void SimFileSystem::clear_immutable(std::string_view path) {
  const std::lock_guard lock(m_state->mutex);
  m_state->inode(m_state->find_path(path)).immutable = false;
}

void SimFileSystem::mount(std::string_view path) {
  const std::lock_guard lock(m_state->mutex);
  const sim::InodeNumber top = m_state->find_path(path);
  m_state->inode(top).mount_root = true;
  m_state->set_mount(top, m_state->next_device++, m_state->next_mount++);
}

void SimFileSystem::bind(std::string_view path) {
  const std::lock_guard lock(m_state->mutex);
  const sim::InodeNumber top = m_state->find_path(path);
  m_state->inode(top).mount_root = true;
  m_state->set_mount(top, m_state->inode(top).device, m_state->next_mount++);
}

}  // namespace nb::fs
