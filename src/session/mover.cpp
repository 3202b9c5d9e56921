// SPDX-License-Identifier: Apache-2.0
#include "session/mover.hpp"

#include <algorithm>
#include <set>

#include "base/failpoint.hpp"
#include "fs/metadata.hpp"
#include "session/interrupt.hpp"

namespace nb::session {
namespace {

constexpr std::size_t k_copy_bytes = std::size_t{1} << 20;
constexpr std::uint64_t k_space_check_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t k_most_kept_names = 1'000'000;  // to look at, in history, before large files are copied

scan::ListerOptions lister_options(const hash::Secret& secret) {
  return {scan::MetadataView::kept, scan::Compare::stat, nullptr, &secret, nullptr};
}

// Would be linked, but for other names that it has.
bool has_several_names(const TakenFile& taken) {
  return taken.is_alike && taken.state.links > 1 && taken.file.size > hash::k_block_bytes;
}

}  // namespace

Mover::Mover(fs::Directory& root, txn::Transaction& transaction, Stager& stager, BasisStore& bases,
             const hash::Secret& secret)
    : m_root(root),
      m_transaction(transaction),
      m_stager(stager),
      m_bases(bases),
      m_secret(secret),
      m_lister(lister_options(secret)) {}

Result<fs::Directory*> Mover::live(const RelPath& path) {
  if (m_live && m_live_path == path) return m_live.get();
  NB_TRY_ASSIGN(m_live, m_root.open_directory_path(path));
  m_live_path = path;
  return m_live.get();
}

// --- Finding --------------------------------------------------------------------------------------------------------

std::optional<RelPath> Mover::find_directory(const hash::Digest& listing) {
  for (RelPath& path : m_bases.find_listing(listing)) {
    if (live(path)) return std::move(path);
  }
  return std::nullopt;
}

// A new name is worth the question if its size is known. What replaces a file is more likely a new version of that,
// which the question would have the source read twice: only a file that came from elsewhere brings another's mtime too.
bool Mover::may_have(const RelPath& set_path, const wire::Entry& entry, const fs::Stat* present) {
  const bool is_new = present == nullptr || present->type != fs::FileType::regular;
  return m_bases.has_other(set_path, entry.size, is_new ? std::nullopt : std::optional(entry.meta.mtime));
}

// The regular file of that size at `from`, if there is one.
std::optional<Mover::Candidate> Mover::look_at(const RelPath& from, std::uint64_t size) {
  const auto parent = live(from.parent());
  if (!parent) return std::nullopt;
  auto listed = m_lister.read_one(**parent, from.parent(), from.name());
  if (!listed || !*listed || (*listed)->entries.empty()) return std::nullopt;
  Candidate candidate{std::move((*listed)->entries.front()), (*listed)->stats.front()};
  const bool fits = candidate.stat.type == fs::FileType::regular && candidate.entry.type == fs::FileType::regular &&
                    candidate.stat.size == size;
  return fits ? std::optional(std::move(candidate)) : std::nullopt;
}

// An interrupted run may have linked this very file into the stage; that name is in the way of linking it again.
void Mover::drop_leftover(const RelPath& set_path, const fs::Stat& candidate) {
  const auto record = m_transaction.find_staged(set_path);
  if (!record || !*record || (*record)->is_tree) return;
  const std::string name = txn::Transaction::slot_name((*record)->slot);
  const auto stat = m_transaction.slots().stat_at(name);
  if (!stat || stat->inode != candidate.inode || stat->type != candidate.type) return;
  static_cast<void>(m_transaction.slots().remove_file(name));
}

bool Mover::reads_as(const hash::Digest& digest, const RelPath& from, const fs::Stat& stat) {
  const auto parent = live(from.parent());
  if (!parent) return false;
  const auto file = (*parent)->open_file(from.name(), fs::OpenMode::read);
  if (!file) return false;
  const auto before = (*file)->stat();
  if (!before || !fs::is_same_state(*before, stat)) return false;
  const auto made = scan::content_digest(**file, stat.size, m_secret, may_go_on);
  const auto after = (*file)->stat();
  return made && *made == digest && after && fs::is_same_state(*after, stat);
}

Result<bool> Mover::take_candidate(const RelPath& from, const ExpectedFile& file, const RelPath& set_path,
                                   const hash::Digest& digest) {
  auto candidate = look_at(from, file.size);
  if (candidate && candidate->stat.links > 1) {
    drop_leftover(set_path, candidate->stat);
    candidate = look_at(from, file.size);
  }
  if (!candidate) return false;
  const auto recorded = m_bases.digest_of(from, candidate->stat);
  if (recorded ? *recorded != digest : !reads_as(digest, from, candidate->stat)) return false;
  const bool is_alike = !compare_metadata(file.meta, candidate->entry.meta).any();
  if (file.size > hash::k_block_bytes) {
    m_bases.begin_file(set_path);
    if (recorded) m_bases.inherit(set_path, from);
  }
  const TakenFile taken{file, digest, from, candidate->stat, is_alike};
  NB_TRY(m_transaction.add_taken(encode(taken)));
  ++m_taken;
  if (has_several_names(taken)) ++m_with_several_names;
  return true;
}

Result<bool> Mover::take(const ExpectedFile& file, const RelPath& set_path, const hash::Digest& digest) {
  for (const RelPath& from : m_bases.find_by_content(digest, file.size)) {
    if (from == set_path) continue;
    NB_TRY_ASSIGN(const bool taken, take_candidate(from, file, set_path, digest));
    if (taken) return true;
  }
  return false;
}

Result<bool> Mover::take_from(const RelPath& from, const ExpectedFile& file, const RelPath& set_path,
                              const hash::Digest& digest) {
  const auto parent = live(from.parent());
  if (!parent) return false;
  const auto stat = (*parent)->stat_at(from.name());
  if (!stat || stat->size != file.size || stat->mtime != file.meta.mtime) return false;
  return take_candidate(from, file, set_path, digest);
}

// --- Taking ---------------------------------------------------------------------------------------------------------

Status Mover::settle(const RelPath& base, const Staged& staged, const Lost& lost) {
  if (m_taken == 0) return {};
  NB_TRY_ASSIGN(m_departures, Departures::of(m_transaction, m_secret));
  if (m_with_several_names > 0) NB_TRY(find_kept_names(base));
  return m_transaction.for_each_taken([&](ByteView record) { return settle_one(record, base, staged, lost); });
}

Status Mover::settle_one(ByteView record, const RelPath& base, const Staged& staged, const Lost& lost) {
  NB_TRY_ASSIGN(TakenFile taken, decode_taken_file(record));
  auto node = bring_in(taken);
  if (!node && node.error().code == Errc::changed) return distrust(taken);
  if (!node) return lost(std::move(node.error()), taken.file);
  ++m_files;
  m_bytes += taken.file.size;
  NB_TRY(staged(taken, *node));
  // In a rotation the next one is linked in its turn.
  if (taken.file.replaced) m_departures->add(base.join(taken.file.path));
  return {};
}

// The candidate has changed, has rotted, or cannot be read. The source has been told that its content is not needed, and
// the candidate's own name may be about to go: so the run ends before it changes anything, and the next one sends it.
Status Mover::distrust(const TakenFile& taken) {
  m_bases.distrust(taken.from);
  return fail(Errc::io, taken.from.str() + " at the destination is not what was recorded of it; nothing was changed, " +
                            "run again and " + taken.file.path.str() + " is sent");
}

// A file that was moved once already has its old name in history. Small ones are copied as quickly as that is found out.
Status Mover::find_kept_names(const RelPath& base) {
  std::set<RelPath> replaced;  // by other taken files
  std::vector<std::pair<RelPath, fs::Stat>> several;
  NB_TRY(m_transaction.for_each_taken([&](ByteView record) -> Status {
    NB_TRY_ASSIGN(TakenFile taken, decode_taken_file(record));
    if (taken.file.replaced) replaced.insert(base.join(taken.file.path));
    if (has_several_names(taken)) several.emplace_back(std::move(taken.from), taken.state);
    return {};
  }));
  for (const auto& [from, state] : several) {
    if (m_departures->has(from) || replaced.contains(from)) m_missing_names[state.inode] = state.links - 1;
  }
  if (!m_missing_names.empty()) txn::find_kept_names(m_root, k_most_kept_names, m_missing_names);
  return {};
}

bool Mover::is_last_live_name(const fs::Stat& stat) const {
  if (stat.links == 1) return true;
  const auto found = m_missing_names.find(stat.inode);
  return found != m_missing_names.end() && found->second == 0;
}

// A second name for the file where its first one goes. That its state is the one that was checked says that content and
// metadata are too, and that it has got no other name since.
Result<StagedNode> Mover::bring_in(const TakenFile& taken) {
  if (interrupt_requested()) return fail(Errc::interrupted, "");
  NB_FAILPOINT("session.stage.take");
  const auto gone = [&] { return fail(Errc::changed, taken.from.str() + " at the destination"); };
  const auto parent = live(taken.from.parent());
  if (!parent) return gone();
  const auto stat = (*parent)->stat_at(taken.from.name());
  if (!stat || stat->type != fs::FileType::regular) return gone();
  const bool may_link = taken.is_alike && is_last_live_name(*stat) && fs::is_same_state(*stat, taken.state) &&
                        m_departures->has(taken.from);
  if (!may_link) return copy(taken, **parent);
  NB_TRY_ASSIGN(fs::Directory * target, m_stager.directory(taken.file.spot));
  const Status linked = (*parent)->link(taken.from.name(), *target, Stager::name_of(taken.file.spot));
  if (!linked) return copy(taken, **parent);
  NB_FAILPOINT("session.stage.linked");
  m_stager.keep_nothing_beside(taken.file.path);
  return StagedNode{txn::ident_of(*stat), {}, stat->born};
}

Result<StagedNode> Mover::copy(const TakenFile& taken, const fs::Directory& parent) {
  NB_TRY(m_stager.check_space());
  const auto from = parent.open_file(taken.from.name(), fs::OpenMode::read);
  if (!from) return fail(Errc::changed, taken.from.str() + " at the destination");
  const Spot& spot = taken.file.spot;
  NB_TRY_ASSIGN(const auto to, m_stager.create_file(spot, taken.file.meta));
  const Status filled = fill(taken, **from, *to);
  auto node = filled ? m_stager.finish_file(spot, *to, taken.file.meta, taken.file.path.str())
                     : Result<StagedNode>(tl::make_unexpected(filled.error()));
  if (node) {
    node->ident.size = taken.file.size;
    return node;
  }
  // Half a file would enter with its directory.
  NB_TRY_ASSIGN(fs::Directory * directory, m_stager.directory(spot));
  NB_TRY(directory->remove_file(Stager::name_of(spot)));
  return node;
}

// What shares the blocks of a file that is still as it was checked needs no reading.
Status Mover::fill(const TakenFile& taken, fs::File& from, fs::File& to) {
  NB_TRY_ASSIGN(const bool cloned, to.clone_from(from));
  hash::Digest made;
  if (cloned) {
    NB_TRY_ASSIGN(const fs::Stat after, from.stat());
    if (fs::is_same_state(after, taken.state)) return {};
    NB_TRY(to.set_size(taken.file.size));
    const auto read = scan::content_digest(to, taken.file.size, m_secret, may_go_on);
    if (interrupt_requested()) return fail(Errc::interrupted, "");
    if (!read) return fail(Errc::changed, "read at the destination");
    made = *read;
  } else {
    NB_TRY(to.set_size(0));  // a part may have been cloned, and a hole is not written
    NB_TRY_ASSIGN(made, copy_content(from, to, taken.file.size));
  }
  if (made == taken.digest) return {};
  return fail(Errc::changed, taken.from.str() + " at the destination");
}

// What cannot be read is as bad as what is not what it was.
Result<hash::Digest> Mover::copy_content(fs::File& from, fs::File& to, std::uint64_t size) {
  hash::FileHasher hasher(m_secret);
  Status written;
  const fs::ContentVisitor visitor{[&hasher](fs::Extent hole) -> Status {
                                     hasher.update_zeros(hole.length);
                                     return {};
                                   },
                                   [&](std::uint64_t offset, ByteView bytes) {
                                     hasher.update(bytes);
                                     return written = copy_piece(to, offset, bytes);
                                   }};
  from.expect_sequential_read();
  m_buffer.resize(k_copy_bytes);
  const Status read = fs::read_through(from, size, m_buffer, visitor);
  NB_TRY(written);
  if (!read) return fail(Errc::changed, "read at the destination");
  NB_TRY(to.set_size(size));
  return hasher.finish();
}

Status Mover::copy_piece(fs::File& to, std::uint64_t offset, ByteView bytes) {
  if (interrupt_requested()) return fail(Errc::interrupted, "");
  NB_TRY(to.write_at(offset, bytes));
  to.start_writeback({offset, bytes.size()});
  m_copied_since_check += bytes.size();
  if (m_copied_since_check < k_space_check_bytes) return {};
  m_copied_since_check = 0;
  return m_stager.check_space();
}

// --- Afterwards -----------------------------------------------------------------------------------------------------

void Mover::drop_second_names(const RelPath& base) {
  if (m_taken == 0) return;
  // With what taken files have replaced.
  auto departures = Departures::of(m_transaction, m_secret);
  if (!departures) return;
  m_departures = std::move(*departures);
  // What stays of it is found out when it is used.
  static_cast<void>(m_transaction.for_each_taken([&](ByteView record) -> Status {
    NB_TRY_ASSIGN(const TakenFile taken, decode_taken_file(record));
    if (taken.is_alike && taken.file.size > hash::k_block_bytes) drop_second_name(taken, base.join(taken.file.path));
    return {};
  }));
}

void Mover::drop_second_name(const TakenFile& taken, const RelPath& set_path) {
  const auto trash = m_departures->find(taken.from);
  const auto parent = m_root.open_directory_path(set_path.parent());
  if (!trash || !parent) return;
  const auto stat = (*parent)->stat_at(set_path.name());
  if (!stat || stat->links < 2) return;
  const RelPath old = RelPath().child(txn::Transaction::slot_name(trash->slot)).join(trash->below);
  const auto directory = m_transaction.trash().open_directory_path(old.parent());
  if (!directory) return;
  const auto second = (*directory)->stat_at(old.name());
  if (!second || second->type != stat->type || second->inode != stat->inode) return;
  static_cast<void>((*directory)->remove_file(old.name()));
}

}  // namespace nb::session
