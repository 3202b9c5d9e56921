// SPDX-License-Identifier: Apache-2.0
// Sink, part seven: how an entry comes into the stage: as an interrupted run left it, taken from elsewhere in the set,
// made at once, or by its content, which is wanted here.
#include "session/interrupt.hpp"
#include "session/sink.hpp"

namespace nb::session {

// Brings `entry` into the stage, or asks for its content.
Status Sink::stage(SinkDirectory& directory, const wire::Entry& entry, bool shared,
                   const fs::Stat* present) {
  if (!commits()) {
    // What it would transfer.
    if (entry.type == fs::FileType::regular && !entry.link_to) m_result.content_bytes += entry.size;
    return {};
  }
  const RelPath path = directory.path.child(entry.name);
  const std::optional<txn::Ident> replaced = present ? std::optional(txn::ident_of(*present)) : std::nullopt;
  NB_TRY_ASSIGN(const bool may, may_stage(directory, entry, present));
  if (!may) {
    uncount(replaced);
    if (shared) m_stand_ins[path] = std::nullopt;
    return {};
  }
  directory.touched = true;
  const bool in_live = directory.location.where == Where::live;
  if (entry.type == fs::FileType::regular && in_live && !entry.link_to) {
    NB_TRY_ASSIGN(const bool resumed, stage_resumed(directory, entry, shared, replaced));
    if (resumed) return {};
  }
  ExpectedFile file{path, in_live ? m_stager->new_spot() : directory.location.entry(entry.name), in_live,
                    replaced, shared, entry.meta, entry.size, false, {}, false, false};
  NB_TRY_ASSIGN(const bool taken, take_listed(directory, entry, file));
  return taken ? Status{} : stage_anew(directory, entry, present, std::move(file));
}

// Whether the name can be made, or replaced, where it belongs. If not, that has been told.
Result<bool> Sink::may_stage(SinkDirectory& directory, const wire::Entry& entry, const fs::Stat* present) {
  if (directory.location.where != Where::live) return true;
  NB_TRY_ASSIGN(const bool may, open_up(directory));
  if (!may || present != nullptr) return may;
  return takes_name(directory.path.child(entry.name));
}

// What is here under no name: linked at the end, wanted, or made at once.
Status Sink::stage_anew(SinkDirectory& directory, const wire::Entry& entry, const fs::Stat* present,
                        ExpectedFile file) {
  NB_TRY(offer_basis(entry, present, file));
  file.digest_asked = asks_for_digest(directory, entry, file, present);
  if (entry.link_to) {
    const RelPath leader = stand_in(*entry.link_to, file.path);
    if (leader != file.path) {
      m_links.push_back({file.path, leader, file.spot, file.in_live, file.replaced, entry.type, entry.size,
                         entry.meta.mtime, entry.content});
      return {};
    }
    file.shared = true;
  }
  if (entry.type == fs::FileType::regular) return expect_content(directory, entry, std::move(file));
  auto node = m_stager->make_special(file.spot, entry, file.path.str());
  if (!node) return per_file(tl::make_unexpected(node.error()), file);
  if (file.shared) m_shared[file.path] = file.spot;
  return file.in_live ? add_place(file.path, file.spot, *node, file.replaced) : Status{};
}

// Who is linked to in place of `leader`: itself, as a rule. Where it could not be planned, the next member of its group
// that comes along, `path`, is sent and takes its place.
RelPath Sink::stand_in(const RelPath& leader, const RelPath& path) {
  const auto it = m_stand_ins.find(leader);
  if (it == m_stand_ins.end()) return leader;
  if (!it->second) it->second = path;
  return *it->second;
}

// Of a staged file; nothing where it cannot be read: then its content is sent again.
Result<std::optional<hash::Digest>> Sink::read_staged(fs::File& file, std::uint64_t size) {
  const auto digest = scan::content_digest(file, size, *m_options.secret, may_go_on);
  if (interrupt_requested()) return fail(Errc::interrupted, "");
  return digest ? std::optional(*digest) : std::nullopt;
}

// A file of its own in the stage of an interrupted run, checked before use.
Result<bool> Sink::stage_resumed(SinkDirectory& directory, const wire::Entry& entry, bool shared,
                                 const std::optional<txn::Ident>& replaced) {
  const RelPath path = directory.path.child(entry.name);
  NB_TRY_ASSIGN(const auto record, m_target.transaction->find_staged(set_path(path)));
  const bool is_whole_file = record && !record->is_tree && !record->is_partial;
  if (!is_whole_file || record->size != entry.size || record->mtime != entry.meta.mtime) return false;
  // Nothing of it was ever committed, so size and time alone do not make it what the source has now. Where the digest is
  // not known, a large file becomes the basis of a delta.
  if (entry.content != record->digest) return false;
  Spot spot;
  spot.slot = record->slot;
  NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(spot));
  const auto file = dir->open_file(Stager::name_of(spot), fs::OpenMode::read);
  if (!file) return false;
  NB_TRY_ASSIGN(const fs::Stat stat, (*file)->stat());
  if (stat.size != entry.size || stat.links != 1) return false;
  NB_TRY_ASSIGN(const auto digest, read_staged(**file, entry.size));
  if (digest != record->digest) return false;
  if (!Stager::strip_adopted(**file)) return false;
  NB_TRY_ASSIGN(const StagedNode node, m_stager->finish_file(spot, **file, entry.meta, path.str()));
  m_result.resumed_bytes += entry.size;
  const ExpectedFile resumed{path, spot, true, replaced, shared, {}, 0, false, {}, false, false};
  NB_TRY(staged(resumed, node, *digest, entry.meta, entry.size));
  return true;
}

Status Sink::expect_content(SinkDirectory& directory, const wire::Entry& entry, ExpectedFile file) {
  const wire::FileKey key{directory.id, directory.next_index};
  if (file.shared) m_shared[file.path] = std::nullopt;
  file.rides = rides_along(directory, entry);
  if (file.rides) {
    ++m_riding;
  } else {
    m_to_ask.emplace_back(want_for(key, file));
  }
  m_expected.emplace(key, std::move(file));
  return {};
}

// A file that an interrupted run staged in this tree: kept if it is what its log says and what is wanted now.
Result<bool> Sink::keep_adopted(SinkDirectory& directory, const wire::Entry& entry, const PresentEntry& here) {
  const Difference d = compare_entries(entry, here.entry);
  const Spot spot = directory.location.entry(entry.name);
  NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(spot));
  const RelPath path = set_path(directory.path.child(entry.name));
  bool good = !d.any() && !entry.link_to && here.stat.links == 1;
  bool begun = false;
  if (entry.type == fs::FileType::regular && here.stat.type == fs::FileType::regular) {
    NB_TRY_ASSIGN(const auto record, m_target.transaction->find_staged(path));
    begun = record && record->is_partial;
    good = good && record && !record->is_tree && !begun && record->size == entry.size &&
           record->mtime == entry.meta.mtime;
    if (good) {
      NB_TRY_ASSIGN(const auto file, dir->open_file(entry.name, fs::OpenMode::read));
      NB_TRY_ASSIGN(const auto digest, read_staged(*file, entry.size));
      good = digest && digest == record->digest && entry.content == digest;
      // It may resemble what the source has now.
      begun = !good && entry.size > hash::k_block_bytes;
    }
  }
  if (!good) {
    NB_TRY(begun ? put_begun_aside(*dir, entry.name, path) : dir->remove_file(entry.name));
    return false;
  }
  m_result.resumed_bytes += entry.size;
  ++m_result.files_new;
  return true;
}

}  // namespace nb::session
