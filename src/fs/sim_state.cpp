// SPDX-License-Identifier: Apache-2.0
// The live half of the simulated file system: faults, inodes, attributes and names as every process sees them.
#include "fs/sim_state.hpp"

#include <cerrno>

#include "base/assert.hpp"
#include "base/text.hpp"

namespace nb::fs::sim {
namespace {

constexpr std::uint32_t k_set_id_bits = 06000;
constexpr std::int64_t k_first_second = 1'000'000'000;
constexpr std::uint64_t k_ticks_per_second = 1000;
constexpr std::uint32_t k_tick_nsec = 1'000'000;
constexpr std::uint32_t k_directory_mode = 0700;
constexpr std::uint32_t k_file_mode = 0600;
constexpr std::uint32_t k_symlink_mode = 0777;

std::uint32_t first_mode(FileType type) {
  if (type == FileType::directory) return k_directory_mode;
  return type == FileType::symlink ? k_symlink_mode : k_file_mode;
}

}  // namespace

void apply(Attributes& attributes, const AttributeChange& change, FileType type) {
  attributes.ctime = change.ctime;
  switch (change.kind) {
    case AttributeChange::Kind::touch_ctime: break;
    case AttributeChange::Kind::touch:
    case AttributeChange::Kind::set_mtime: attributes.mtime = change.mtime; break;
    case AttributeChange::Kind::set_owner:
      attributes.owner = change.owner;
      if (type != FileType::directory) attributes.mode &= ~k_set_id_bits;
      break;
    case AttributeChange::Kind::set_mode: attributes.mode = change.mode; break;
    case AttributeChange::Kind::set_xattr: attributes.xattrs[change.name] = change.value; break;
    case AttributeChange::Kind::remove_xattr: attributes.xattrs.erase(change.name); break;
  }
}

State::State(const SimOptions& chosen) : options(chosen) {
  const InodeNumber root = make_inode(FileType::directory, k_no_inode);
  NB_ASSERT(root == k_root);
  Inode& made = inode(root);
  made.device = next_device++;
  made.mount = next_mount++;
  made.mount_root = true;
  made.links = 2;
}

Timestamp State::tick() {
  ++m_ticks;
  return {k_first_second + static_cast<std::int64_t>(m_ticks / k_ticks_per_second),
          static_cast<std::uint32_t>(m_ticks % k_ticks_per_second) * k_tick_nsec};
}

Result<Gate> State::enter(SimOperation kind, InodeNumber at, std::string_view name, InodeNumber to,
                          std::string_view new_name) {
  if (m_in_hook) return Gate::proceed;
  const std::uint64_t number = ++operations;
  if (hook) {
    SimEvent event{number, kind, path_of(at, name), to == k_no_inode ? std::string() : path_of(to, new_name)};
    m_in_hook = true;
    hook(event);
    m_in_hook = false;
  }
  if (number >= die_at) m_dead = true;
  NB_TRY(check_alive());
  if (const auto chosen = fail_at.find(number); chosen != fail_at.end()) {
    lose_unsynced(kind, at);
    return fail_errno(std::string(to_string(kind)) + ": " + path_of(at, name), chosen->second);
  }
  return ignored.contains(kind) ? Gate::pretend : Gate::proceed;
}

void State::go_on() {
  m_dead = false;
  die_at = std::numeric_limits<std::uint64_t>::max();
}

Status State::check_alive() const {
  if (m_dead && !m_in_hook) return fail(Errc::io, "the machine is dead", EIO);
  return {};
}

void State::lose_unsynced(SimOperation kind, InodeNumber at) {
  if (kind == SimOperation::sync_file) sync_file(at, SyncResult::failed);
  if (kind == SimOperation::sync_directory) sync_directory(at, SyncResult::failed);
  if (kind == SimOperation::sync_file_system) sync_device(inode(at).device, SyncResult::failed);
}

std::string State::path_of(InodeNumber number, std::string_view name) const {
  std::string path(name);
  for (InodeNumber at = number; at != k_root && at != k_no_inode;) {
    const Inode& here = m_inodes.at(at);
    path = path.empty() ? here.name : here.name + "/" + path;
    at = here.parent;
  }
  return path;
}

Inode& State::inode(InodeNumber number) {
  const auto found = m_inodes.find(number);
  NB_ASSERT(found != m_inodes.end());
  return found->second;
}

Result<Stat> State::stat(InodeNumber number) {
  NB_TRY(check_alive());
  const Inode& from = inode(number);
  Stat stat;
  stat.type = from.type;
  stat.mode = from.attributes.mode;
  stat.owner = from.attributes.owner;
  stat.size = from.content.size();
  stat.allocated_bytes = from.content.blocks() * k_block_bytes;
  stat.mtime = from.attributes.mtime;
  stat.ctime = from.attributes.ctime;
  stat.device = from.device;
  stat.mount = from.mount;
  stat.inode = m_shown_numbers_from + number;
  stat.born = from.born;
  stat.links = from.links;
  stat.node = from.node;
  stat.immutable = from.immutable;
  stat.mount_root = from.mount_root;
  return stat;
}

InodeNumber State::find_path(std::string_view path) const {
  InodeNumber at = k_root;
  if (path.empty()) return at;
  for (const std::string_view component : split(path, '/')) {
    at = names.find(at, component);
    if (at == k_no_inode) break;
  }
  return at;
}

InodeNumber State::make_inode(FileType type, InodeNumber parent) {
  const InodeNumber number = m_next_inode++;
  const Timestamp now = tick();
  Inode made;
  made.type = type;
  made.device = parent == k_no_inode ? 0 : inode(parent).device;
  made.mount = parent == k_no_inode ? 0 : inode(parent).mount;
  made.born = now;
  made.attributes.mode = first_mode(type);
  made.attributes.mtime = now;
  made.attributes.ctime = now;
  made.durable_attributes = made.attributes;
  m_inodes.emplace(number, std::move(made));
  return number;
}

void State::change(InodeNumber number, AttributeChange change) {
  Inode& of = inode(number);
  change.ctime = tick();
  if (change.kind == AttributeChange::Kind::touch) {
    change.mtime = change.ctime;
    // Only the last of several in a row matters.
    if (!of.pending.empty() && of.pending.back().kind == change.kind) of.pending.pop_back();
  }
  apply(of.attributes, change, of.type);
  of.pending.push_back(std::move(change));
}

void State::touch(InodeNumber number) { change(number, {}); }

void State::change_ctime(InodeNumber number) {
  AttributeChange ctime;
  ctime.kind = AttributeChange::Kind::touch_ctime;
  change(number, std::move(ctime));
}

void State::set_mount(InodeNumber top, std::uint64_t device, std::uint64_t mount) {
  inode(top).device = device;
  inode(top).mount = mount;
  for (const auto& [name, number] : names.names(top)) set_mount(number, device, mount);
}

void State::release(InodeNumber number) {
  Inode& of = inode(number);
  --of.handles;
  release_if_dead(of);
}

void State::release_if_dead(const Inode& inode) {
  if (inode.links == 0 && inode.handles == 0) used_blocks -= inode.content.blocks();
}

std::uint64_t State::free_bytes() const {
  const std::uint64_t used = used_blocks * k_block_bytes;
  return used >= options.total_bytes ? 0 : options.total_bytes - used;
}

void State::adjust_links(const NameChange& change) {
  Inode& moved = inode(change.inode);
  const std::uint64_t own = change.is_directory ? 2 : 1;
  if (change.kind == NameChange::Kind::add) moved.links += own;
  if (change.kind == NameChange::Kind::remove) moved.links -= own;
  if (change.is_directory) {
    if (change.kind != NameChange::Kind::add) --inode(change.directory).links;
    if (change.kind == NameChange::Kind::add) ++inode(change.directory).links;
    if (change.kind == NameChange::Kind::move) ++inode(change.to_directory).links;
  }
  if (change.replaced != k_no_inode) {
    Inode& replaced = inode(change.replaced);
    replaced.links -= own;  // a directory replaces directories only
    if (change.is_directory) --inode(change.to_directory).links;
    release_if_dead(replaced);
  }
  if (change.kind == NameChange::Kind::remove) release_if_dead(moved);
}

void State::commit(NameChange change) {
  const bool fits = names.apply(change);
  NB_ASSERT(fits);
  adjust_links(change);
  touch(change.directory);
  if (change.to_directory != k_no_inode && change.to_directory != change.directory) touch(change.to_directory);
  Inode& moved = inode(change.inode);
  if (change.kind != NameChange::Kind::remove) {
    const bool move = change.kind == NameChange::Kind::move;
    moved.parent = move ? change.to_directory : change.directory;
    moved.name = move ? change.to_name : change.name;
  }
  for (const NameChange& earlier : m_pending_names) {
    if (earlier.unsure && change.rests_on(earlier)) change.unsure = true;
  }
  m_pending_names.push_back(std::move(change));
}

}  // namespace nb::fs::sim
