// SPDX-License-Identifier: Apache-2.0
#include "fs/sim_file.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>

namespace nb::fs::sim {
namespace {

// off_t's range.
Status check_range(std::uint64_t offset, std::uint64_t length) {
  constexpr std::uint64_t k_max = std::numeric_limits<std::int64_t>::max();
  if (offset > k_max || length > k_max - offset) return fail_errno("offset too large", EOVERFLOW);
  return {};
}

}  // namespace

SimFile::SimFile(Handle handle, OpenMode mode)
    : SimNode(std::move(handle)), m_mode(mode), m_lock_owner(state().next_lock_owner++) {}

SimFile::~SimFile() {
  const auto lock = handle().lock();
  for (auto& [place, holders] : state().locks) holders.erase(m_lock_owner);
  std::erase_if(state().locks, [](const auto& entry) { return entry.second.empty(); });
}

Result<std::size_t> SimFile::read_at(std::uint64_t offset, std::span<std::byte> out) {
  const auto lock = handle().lock();
  NB_TRY(state().check_alive());
  NB_TRY(check_range(offset, 0));
  return handle().inode().content.read(offset, out.first(std::min(out.size(), state().options.most_read_bytes)));
}

Status SimFile::check_writable() const {
  if (m_mode != OpenMode::read_write) return fail_errno("write", EBADF);
  if (handle().inode().immutable) return fail_errno("write", EPERM);
  return {};
}

void SimFile::finish_change(const Content::BlockSet& changed) {
  Inode& inode = handle().inode();
  for (const std::uint64_t block : changed) {
    inode.dirty.insert(block);
    inode.lost.erase(block);
  }
  inode.content_unsynced = true;
  state().touch(handle().number());
}

Status SimFile::write_at(std::uint64_t offset, ByteView data) {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::write, handle().number()));
  if (gate == Gate::pretend) return {};
  NB_TRY(check_writable());
  NB_TRY(check_range(offset, data.size()));
  if (data.empty()) return {};
  Content& content = handle().inode().content;
  const std::uint64_t wanted = content.missing_blocks({offset, data.size()});
  if (wanted * k_block_bytes > state().free_bytes()) return fail_errno("write", ENOSPC);
  Content::BlockSet changed;
  content.write(offset, data, changed);
  state().used_blocks += wanted;
  finish_change(changed);
  return {};
}

Status SimFile::set_size(std::uint64_t size) {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::set_size, handle().number()));
  if (gate == Gate::pretend) return {};
  NB_TRY(check_writable());
  NB_TRY(check_range(size, 0));
  Content& content = handle().inode().content;
  const std::uint64_t before = content.blocks();
  Content::BlockSet changed;
  content.resize(size, changed);
  state().used_blocks -= before - content.blocks();
  finish_change(changed);
  return {};
}

Status SimFile::sync() {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::sync_file, handle().number()));
  if (gate == Gate::proceed) state().sync_file(handle().number(), State::SyncResult::done);
  return {};
}

void SimFile::start_writeback(Extent) {}

void SimFile::expect_sequential_read() {}

Result<std::optional<Extent>> SimFile::next_data(std::uint64_t offset) {
  const auto lock = handle().lock();
  NB_TRY(state().check_alive());
  return handle().inode().content.next_data(offset);
}

const SimFile* SimFile::clone_source(const File& from) const {
  const auto* source = dynamic_cast<const SimFile*>(&from);
  if (source == nullptr || &source->state() != &state() || !state().options.reflink) return nullptr;
  return source->handle().inode().device == handle().inode().device ? source : nullptr;
}

Result<bool> SimFile::clone(const Inode& source, Extent range, std::uint64_t offset) {
  NB_TRY(check_range(offset, range.length));
  Content& content = handle().inode().content;
  const std::uint64_t before = content.blocks();
  const std::uint64_t wanted = source.content.blocks_in(range);
  if (wanted * k_block_bytes > state().free_bytes()) return fail_errno("clone", ENOSPC);
  Content::BlockSet changed;
  content.clone(source.content, range, offset, changed);
  state().used_blocks += content.blocks() - before;
  finish_change(changed);
  return true;
}

Result<bool> SimFile::clone_from(const File& from) {
  const auto lock = handle().lock();
  const SimFile* source = clone_source(from);
  if (source == nullptr) return false;
  const std::uint64_t size = source->handle().inode().content.size();
  return size == 0 ? Result<bool>(true) : clone_range(from, {0, size}, 0);
}

Result<bool> SimFile::clone_range(const File& from, Extent range, std::uint64_t offset) {
  const auto lock = handle().lock();
  const SimFile* source = clone_source(from);
  if (source == nullptr || range.length == 0) return false;
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::write, handle().number()));
  if (gate == Gate::pretend) return true;
  NB_TRY(check_writable());
  NB_TRY(check_range(range.offset, range.length));
  const std::uint64_t source_size = source->handle().inode().content.size();
  const std::uint64_t end = range.offset + range.length;
  if (end > source_size || (range.offset | offset) % k_block_bytes != 0) return false;
  const bool whole_blocks = range.length % k_block_bytes == 0;
  if (!whole_blocks && (end != source_size || offset + range.length < handle().inode().content.size())) return false;
  return clone(source->handle().inode(), range, offset);
}

Result<bool> SimFile::punch_hole(Extent range) {
  const auto lock = handle().lock();
  NB_TRY_ASSIGN(const Gate gate, state().enter(SimOperation::write, handle().number()));
  if (gate == Gate::pretend) return true;
  NB_TRY(check_writable());
  NB_TRY(check_range(range.offset, range.length));
  Content& content = handle().inode().content;
  const std::uint64_t before = content.blocks();
  Content::BlockSet changed;
  content.punch(range, changed);
  state().used_blocks -= before - content.blocks();
  finish_change(changed);
  return true;
}

Result<bool> SimFile::try_lock(LockKind kind, std::uint64_t at) {
  const auto lock = handle().lock();
  NB_TRY(state().check_alive());
  if (kind == LockKind::exclusive && m_mode != OpenMode::read_write) return fail_errno("lock", EBADF);
  auto& holders = state().locks[{handle().number(), at}];
  const bool free = std::all_of(holders.begin(), holders.end(), [&](const auto& held) {
    return held.first == m_lock_owner || (kind == LockKind::shared && held.second == LockKind::shared);
  });
  if (free) holders[m_lock_owner] = kind;
  return free;
}

}  // namespace nb::fs::sim
