// SPDX-License-Identifier: Apache-2.0
// Sink, part seven: how an entry comes into the stage: as an interrupted run left it, taken from elsewhere in the set,
// made at once, or by its content, which is wanted here.
#include "session/interrupt.hpp"
#include "session/sink.hpp"

namespace nb::session {

// Brings `entry` into the stage, or asks for its content.
Status Sink::stage(SinkDirectory& directory, const wire::Entry& entry, bool shared, const fs::Stat* present) {
  const RelPath path = directory.path.child(entry.name);
  if (!commits()) {
    // What it would transfer, and that its other names would be linked to something new.
    if (entry.type == fs::FileType::regular && !entry.link_to) m_result.content_bytes += entry.size;
    if (shared) m_shared.put(path, std::nullopt);
    return {};
  }
  const std::optional<txn::Ident> replaced = present ? std::optional(txn::ident_of(*present)) : std::nullopt;
  NB_TRY_ASSIGN(const bool may, may_stage(directory, entry, present));
  if (!may) {
    uncount(replaced);
    if (shared) m_stand_ins[path] = std::nullopt;
    return {};
  }
  directory.touched = true;
  const bool in_live = directory.location.where == Where::live;
  ExpectedFile file;
  file.path = path;
  file.in_live = in_live;
  file.replaced = replaced;
  file.shared = shared;
  file.meta = entry.meta;
  file.size = entry.size;
  NB_TRY_ASSIGN(const bool resumed, stage_resumed(entry, file));
  if (resumed) return {};
  file.spot = in_live ? m_stager->new_spot() : directory.location.entry(entry.name);
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
  NB_TRY_ASSIGN(file.digest_asked, asks_for_digest(directory, entry, file, present));
  if (entry.link_to) {
    const RelPath leader = stand_in(*entry.link_to, file.path);
    if (leader != file.path) {
      m_links.add({file.path, leader, file.spot, file.in_live, file.replaced, entry.type, entry.size, entry.meta.mtime,
                   entry.content});
      return {};
    }
    file.shared = true;
  }
  if (entry.type == fs::FileType::regular) return expect_content(directory, entry, std::move(file));
  auto node = m_stager->make_special(file.spot, entry, file.path.str());
  if (!node) return per_file(tl::make_unexpected(node.error()), file);
  if (file.shared) m_shared.put(file.path, file.spot);
  return file.in_live ? add_place(file.path, file.spot, *node, file.replaced) : Status{};
}

bool Sink::is_skipped(const RelPath& path) const {
  if (m_skipped.empty()) return false;
  for (RelPath at = path; !at.is_root(); at = at.parent()) {
    if (m_skipped.contains(at)) return true;
  }
  return false;
}

// Who is linked to in place of `leader`: itself, as a rule. Where it could not be planned, the next member of its group
// that comes along, `path`, is sent and takes its place.
RelPath Sink::stand_in(const RelPath& leader, const RelPath& path) {
  if (is_skipped(leader)) m_stand_ins.try_emplace(leader, std::nullopt);
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

// A file of its own in the stage of an interrupted run, complete as its log says, and of the size and time of `file`.
Result<std::optional<txn::StagedRecord>> Sink::find_whole(const ExpectedFile& file) {
  if (!file.in_live) return std::nullopt;
  NB_TRY_ASSIGN(auto record, m_target.transaction->find_staged(set_path(file.path)));
  const bool fits = record && !record->is_tree && !record->is_partial && record->size == file.size &&
                    record->mtime == file.meta.mtime;
  return fits ? std::move(record) : std::nullopt;
}

// Nothing of it was ever committed, so size and time alone do not make it what the source has now. Where the digest did
// not come with the listing, a large file's is asked for.
Result<bool> Sink::stage_resumed(const wire::Entry& entry, const ExpectedFile& file) {
  if (entry.type != fs::FileType::regular || entry.link_to) return false;
  NB_TRY_ASSIGN(const auto record, find_whole(file));
  return record && entry.content == record->digest ? take_staged(file, *record) : Result<bool>(false);
}

// Makes it `file`, checked before use, if it still is what the log says.
Result<bool> Sink::take_staged(const ExpectedFile& file, const txn::StagedRecord& record) {
  ExpectedFile resumed = file;
  resumed.spot = Spot{};
  resumed.spot.slot = record.slot;
  NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(resumed.spot));
  const auto staged_file = dir->open_file(Stager::name_of(resumed.spot), fs::OpenMode::read);
  if (!staged_file) return false;
  NB_TRY_ASSIGN(const fs::Stat stat, (*staged_file)->stat());
  if (stat.size != file.size || stat.links != 1) return false;
  NB_TRY_ASSIGN(const auto digest, read_staged(**staged_file, file.size));
  if (digest != record.digest) return false;
  if (!Stager::strip_adopted(**staged_file)) return false;
  const auto node = m_stager->finish_file(resumed.spot, **staged_file, file.meta, file.path.str());
  // It comes anew, and may fail so that it can be told.
  if (!node) return concerns_one_path(node.error()) ? Result<bool>(false) : tl::make_unexpected(node.error());
  m_result.resumed_bytes += file.size;
  NB_TRY(staged(resumed, *node, *digest, file.meta, file.size));
  return true;
}

Status Sink::expect_content(SinkDirectory& directory, const wire::Entry& entry, ExpectedFile file) {
  const wire::FileKey key{directory.id, directory.next_index};
  if (file.shared) m_shared.put(file.path, std::nullopt);
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
Result<bool> Sink::keep_adopted(SinkDirectory& directory, const wire::Entry& entry, bool shared,
                                const PresentEntry& here) {
  const Spot spot = directory.location.entry(entry.name);
  NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(spot));
  const RelPath path = set_path(directory.path.child(entry.name));
  const bool is_file = entry.type == fs::FileType::regular && here.stat.type == fs::FileType::regular;
  bool good = !compare(entry, here.entry).any() && !entry.link_to && here.stat.links == 1;
  txn::StagedRecord record;
  record.path = path;
  if (is_file) {
    NB_TRY_ASSIGN(auto logged, m_target.transaction->find_staged(path));
    good = good && logged;
    if (logged && !logged->is_tree) record = *std::move(logged);
    if (good) {
      NB_TRY_ASSIGN(good, is_as_staged(*dir, entry, record));
    }
  }
  if (!good) {
    // It may resemble what the source has now. What has a live file's name too is had from there, without a copy.
    const bool is_large = entry.size > hash::k_block_bytes && here.stat.size > hash::k_block_bytes;
    const bool helps = is_file && is_large && !entry.link_to && (here.stat.links == 1 || shared);
    NB_TRY(helps ? put_begun_aside(*dir, entry.name, record) : dir->remove_file(entry.name));
    return false;
  }
  if (is_file && entry.size > hash::k_block_bytes) {
    m_bases->stage(path, txn::ident_of(here.stat), entry.size, record.digest);
  }
  m_result.resumed_bytes += entry.size;
  ++m_result.files_new;
  item(item_new(entry.type, m_options.direction, false), directory.path.child(entry.name), link_detail(entry));
  return true;
}

// Whether a file of that tree has the content that is wanted. It is read only where its log says so.
Result<bool> Sink::is_as_staged(fs::Directory& parent, const wire::Entry& entry, const txn::StagedRecord& record) {
  const bool may_be = !record.is_tree && !record.is_partial && record.size == entry.size &&
                      record.mtime == entry.meta.mtime && entry.content == record.digest;
  if (!may_be) return false;
  NB_TRY_ASSIGN(const auto file, parent.open_file(entry.name, fs::OpenMode::read));
  NB_TRY_ASSIGN(const auto digest, read_staged(*file, entry.size));
  return digest == record.digest;
}

}  // namespace nb::session
