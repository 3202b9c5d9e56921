// SPDX-License-Identifier: Apache-2.0
// The durable half of the simulated file system: what syncs make sure of and what a power cut leaves.
#include <algorithm>
#include <random>

#include "base/assert.hpp"
#include "fs/sim_state.hpp"

namespace nb::fs::sim {
namespace {

constexpr std::uint64_t k_renumbered_by = 1'000'000;

// The decisions of one crash, in a fixed order.
class Fate {
 public:
  explicit Fate(CrashChoice choice) : m_kind(choice.kind()), m_random(choice.seed()) {}

  [[nodiscard]] bool keeps() {
    if (m_kind != CrashChoice::Kind::random) return m_kind == CrashChoice::Kind::keep_all;
    return below(2) == 1;
  }

  // What the disk has of a file with unsynced content; `live` is what it would have had after a sync.
  Content content(const Content& live, const Content& old) {
    if (m_kind == CrashChoice::Kind::lose_all) return old;
    if (m_kind == CrashChoice::Kind::keep_all) return live;
    switch (below(4)) {
      case 0: return live;
      case 1: return old;
      case 2: return live.zeros();
      default: break;
    }
    return torn(live, old);
  }

 private:
  // Either old content or the end of the file follows what was written. std::mt19937_64 is the same everywhere; the
  // standard distributions are not.
  std::uint64_t below(std::uint64_t bound) { return m_random() % bound; }

  Content torn(const Content& live, const Content& old) {
    const std::uint64_t length = below(live.size() + 1);
    Content result = live.torn(length, old);
    Content::BlockSet ignored;
    if (below(2) == 1) result.resize(length, ignored);
    return result;
  }

  CrashChoice::Kind m_kind;
  std::mt19937_64 m_random;
};

}  // namespace

void State::sync_attributes(Inode& inode) {
  inode.durable_attributes = inode.attributes;
  inode.pending.clear();
}

void State::sync_file(InodeNumber number, SyncResult result) {
  Inode& file = inode(number);
  if (result == SyncResult::failed) {
    // The kernel drops the dirty marks with the error: these blocks will never be written out.
    file.lost.insert(file.dirty.begin(), file.dirty.end());
    file.dirty.clear();
    return;
  }
  sync_attributes(file);
  if (!file.content_unsynced) return;
  file.durable_content = file.content.with_blocks_of(file.durable_content, file.lost);
  file.dirty.clear();
  file.content_unsynced = false;
}

void State::sync_directory(InodeNumber number, SyncResult result) {
  if (result == SyncResult::done) sync_attributes(inode(number));
  promote([number](const NameChange& change) { return change.participates(number); }, result);
}

void State::sync_device(std::uint64_t device, SyncResult result) {
  for (auto& [number, each] : m_inodes) {
    if (each.device == device) sync_file(number, result);
  }
  promote([this, device](const NameChange& change) { return inode(change.directory).device == device; }, result);
}

void State::promote(const Participates& participates, SyncResult result) {
  std::vector<bool> chosen(m_pending_names.size());
  // From the latest to the earliest, so that what a change rests on is chosen before it is looked at.
  for (std::size_t i = m_pending_names.size(); i-- > 0;) {
    const NameChange& change = m_pending_names[i];
    if (participates(change)) chosen[i] = true;
    if (!chosen[i] || change.unsure || result == SyncResult::failed) continue;
    for (std::size_t j = 0; j < i; ++j) {
      if (!chosen[j] && change.rests_on(m_pending_names[j])) chosen[j] = true;
    }
  }
  std::vector<NameChange> left;
  for (std::size_t i = 0; i < m_pending_names.size(); ++i) {
    NameChange& change = m_pending_names[i];
    if (chosen[i] && result == SyncResult::failed) change.unsure = true;
    if (chosen[i] && !change.unsure) {
      const bool fits = m_durable_names.apply(change);
      NB_ASSERT(fits);
    } else {
      left.push_back(std::move(change));
    }
  }
  m_pending_names = std::move(left);
  if (result == SyncResult::failed) spread_doubt();
}

// Nothing that rests on an unsure change can become sure.
void State::spread_doubt() {
  for (std::size_t i = 0; i < m_pending_names.size(); ++i) {
    for (std::size_t j = 0; j < i && !m_pending_names[i].unsure; ++j) {
      const NameChange& earlier = m_pending_names[j];
      if (earlier.unsure && m_pending_names[i].rests_on(earlier)) m_pending_names[i].unsure = true;
    }
  }
}

std::shared_ptr<State> State::after_crash(CrashChoice choice) const {
  Fate fate(choice);
  auto after = std::make_shared<State>(options);
  after->names = m_durable_names;
  for (const NameChange& change : m_pending_names) {
    // One whose precondition was lost cannot have reached the disk.
    if (fate.keeps()) static_cast<void>(after->names.apply(change));
  }
  after->m_inodes.clear();
  for (const auto& [number, live] : m_inodes) {
    Inode on_disk = live;
    on_disk.attributes = live.durable_attributes;
    for (const AttributeChange& change : live.pending) {
      if (fate.keeps()) apply(on_disk.attributes, change, live.type);
    }
    on_disk.content = live.durable_content;
    if (live.content_unsynced) {
      on_disk.content =
          fate.content(live.content.with_blocks_of(live.durable_content, live.lost), live.durable_content);
    }
    after->m_inodes.emplace(number, std::move(on_disk));
  }
  after->m_next_inode = m_next_inode;
  after->m_shown_numbers_from = options.numbers_last ? 0 : m_shown_numbers_from + k_renumbered_by;
  after->m_ticks = m_ticks;
  after->next_device = next_device;
  after->next_mount = next_mount;
  after->settle();
  return after;
}

// Drops what has no name, counts links and blocks anew, and calls everything that is left durable.
void State::settle() {
  for (auto& [number, each] : m_inodes) {
    each.links = 0;
    each.handles = 0;
    each.parent = k_no_inode;
    each.pending.clear();
    each.durable_attributes = each.attributes;
    each.durable_content = each.content;
    each.content_unsynced = false;
    each.dirty.clear();
    each.lost.clear();
  }
  NameTable reachable;
  used_blocks = 0;
  inode(k_root).links = 2;
  adopt(k_root, reachable);
  std::erase_if(m_inodes, [](const auto& entry) { return entry.second.links == 0; });
  names = reachable;
  m_durable_names = std::move(reachable);
}

void State::adopt(InodeNumber directory, NameTable& reachable) {
  for (const auto& [name, number] : names.names(directory)) {
    Inode& child = inode(number);
    const bool is_directory = child.type == FileType::directory;
    NameChange add;
    add.inode = number;
    add.is_directory = is_directory;
    add.directory = directory;
    add.name = name;
    const bool fits = reachable.apply(add);
    NB_ASSERT(fits);
    if (child.links == 0) used_blocks += child.content.blocks();
    child.links += is_directory ? 2 : 1;
    child.parent = directory;
    child.name = name;
    if (!is_directory) continue;
    ++inode(directory).links;
    adopt(number, reachable);
  }
}

}  // namespace nb::fs::sim
