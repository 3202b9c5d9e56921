// SPDX-License-Identifier: Apache-2.0
// Sink, part eight: what a directory here has beyond what its source has, and the directory itself, once its names have
// been compared.
#include <algorithm>

#include "fs/metadata.hpp"
#include "session/sink.hpp"

namespace nb::session {

// --- Extras ---------------------------------------------------------------------------------------------------------

// The directory's listing, as announced, for the next runs. With -c it has other digests, which would not be met again.
void Sink::note_listing(const SinkDirectory& directory) {
  if (m_mover && directory.flags == 0 && !has(wire::k_flag_checksum)) {
    m_bases->note_listing(set_path(directory.path), directory.announced);
  }
}

// Whether a live directory is what was announced but for names that were found to be extras before. That the digests
// are the same proves that the other names are all that the source has: the record itself is only a hint, so it may be
// written by runs that commit nothing or fail.
bool Sink::is_same_but_extras(const wire::DirectoryMessage& message, SinkDirectory& directory) {
  const auto& found = *directory.present;
  if (!m_mover || found.partial || found.entries.size() <= message.entries) return false;
  const std::vector<std::string> names = m_bases->extras(set_path(directory.path));
  if (names.size() + message.entries < found.entries.size()) return false;
  Bytes encoded;
  ByteWriter out(encoded);
  std::uint64_t kept = 0;
  for (std::size_t i = 0; i < found.entries.size(); ++i) {
    if (std::binary_search(names.begin(), names.end(), found.entries[i].name)) {
      directory.extra_indices.push_back(i);
      continue;
    }
    wire::encode_entry(out, found.entries[i]);
    ++kept;
  }
  hash::FileHasher listing = scan::begin_listing_digest(found.own, *m_options.secret);
  listing.update(encoded);
  return kept == message.entries && listing.finish() == message.digest;
}

// What --delete takes away where no listing is needed.
Status Sink::remove_known_extras(SinkDirectory& directory) {
  if (!has(wire::k_flag_delete)) return {};
  directory.own = directory.present->own;
  for (const std::size_t index : directory.extra_indices) NB_TRY(remove_extra(directory, index));
  m_bases->note_extras(set_path(directory.path), directory.extras);
  return end_live_directory(directory);
}

Status Sink::remove_extra(SinkDirectory& directory, std::size_t index) {
  const wire::Entry& entry = directory.present->entries[index];
  const RelPath path = directory.path.child(entry.name);
  if (directory.location.where == Where::staged) {
    NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(directory.location.entry(entry.name)));
    return fs::remove_tree(*dir, entry.name);
  }
  constexpr std::uint64_t k_keeps = wire::k_directory_implied | wire::k_directory_partial | wire::k_directory_foreign;
  if (!has(wire::k_flag_delete) || (directory.flags & k_keeps) != 0 || m_kept_names.contains(path)) {
    directory.extras.push_back(entry.name);
    return {};
  }
  return remove_live(directory, entry.name, directory.present->stats[index]);
}

// All of it that may go. What stays is an extra.
Status Sink::remove_live(SinkDirectory& directory, const std::string& name, const fs::Stat& stat) {
  const RelPath path = directory.path.child(name);
  const std::uint64_t before = m_deletion->entries();
  NB_TRY_ASSIGN(const auto doomed, m_deletion->plan({path, stat}, deletion_items()));
  if (!commits()) return {};
  if (doomed.empty() || doomed.front().path != path) directory.extras.push_back(name);
  for (const Deletion::Doomed& each : doomed) {
    const bool is_here = each.path == path;
    NB_TRY_ASSIGN(const bool may, is_here ? open_up(directory) : open_up_path(each.path.parent()));
    if (!may && is_here) {
      m_deletion->uncount(m_deletion->entries() - before);
      directory.extras.push_back(name);
    }
    if (!may) continue;
    m_beside->remove(each.path);
    directory.touched |= is_here;
    if (is_here) NB_TRY(note_removed(directory, path));
    if (!is_here) m_bystanders.insert(set_path(each.path.parent()));
    NB_TRY(m_target.transaction->add(
        txn::Remove{set_path(each.path), m_target.transaction->next_slot(), txn::ident_of(each.stat)}));
  }
  return {};
}

// Names are to be made or removed in it. False, and a problem, where it is someone else's and closed to us.
Result<bool> Sink::open_up(SinkDirectory& directory) {
  if (!directory.may_change) {
    NB_TRY_ASSIGN(directory.may_change, open_up_path(directory.path));
  }
  return *directory.may_change;
}

Result<bool> Sink::open_up_path(const RelPath& path) {
  const RelPath in_set = set_path(path);
  const bool is_told = m_closed.contains(in_set);
  NB_TRY_ASSIGN(const bool may, open_up_in_set(in_set));
  if (!may && !is_told) {
    m_reporter.problem({Errc::not_permitted, 0, path.str() + "/ at the destination: of another owner or group"});
  }
  return may;
}

Result<bool> Sink::open_up_in_set(const RelPath& path) {
  NB_TRY_ASSIGN(fs::Directory * dir, live_in_set(path));
  if (dir->writable()) return true;
  const auto known = m_closed.find(path);
  if (known != m_closed.end()) return known->second;
  NB_TRY_ASSIGN(const fs::Stat stat, dir->stat());
  const bool may = m_stager->may_open_up(stat);
  m_closed.emplace(path, may);
  if (!may) return false;
  NB_TRY(m_target.transaction->add(txn::OpenUp{path, txn::ident_of(stat), stat.mode, stat.mode | 0700}));
  return true;
}

Status Sink::end_listing(SinkDirectory& directory) {
  if (directory.present) {
    while (directory.next_present < directory.present->entries.size()) {
      NB_TRY(remove_extra(directory, directory.next_present++));
    }
  }
  const Location& at = directory.location;
  constexpr std::uint64_t k_unknown = wire::k_directory_implied | wire::k_directory_partial | wire::k_directory_foreign;
  if (at.where == Where::live || at.where == Where::staged) note_listing(directory);
  if (at.where == Where::live && m_mover && (directory.flags & k_unknown) == 0) {
    m_bases->note_extras(set_path(directory.path), directory.extras);
  }
  if (at.where == Where::live) return end_live_directory(directory);
  if (at.where != Where::staged) return {};
  if (!at.below.is_root()) return m_stager->finish_tree_directory(at.spot(), directory.staged->literal);
  fs::Metadata staged = directory.staged->literal;
  staged.mode |= 0700;  // while it was filled
  return enter_end(directory.path, txn::SetMetadata{set_path(directory.path), directory.staged->ident,
                                                    std::move(staged), directory.staged->literal});
}

Status Sink::end_live_directory(SinkDirectory& directory) {
  if (!directory.own) return {};
  const Difference d = compare(*directory.own, *directory.present->own);
  if (!d.any() && !(commits() && directory.touched)) return {};
  NB_TRY_ASSIGN(fs::Directory * dir, live(directory.path));
  NB_TRY_ASSIGN(const fs::Stat stat, dir->stat());
  if (m_options.mode != SinkMode::verify && !fs::acts_as_owner(stat)) {
    if (d.any()) m_reporter.problem({Errc::not_permitted, 0, directory.path.str() + "/: owned by someone else here"});
    return {};
  }
  if (d.any()) {
    ++m_result.metadata_changed;
    item(item_changed(fs::FileType::directory, m_options.direction, d, false), directory.path);
  }
  if (!commits()) return {};
  NB_TRY_ASSIGN(fs::Xattrs xattrs, dir->xattrs());
  fs::Metadata before{stat.mode, stat.owner, stat.mtime, std::move(xattrs)};
  fs::Metadata after = before;
  if (d.any()) {
    NB_TRY_ASSIGN(after, m_stager->literal_for(fs::FileType::directory, *directory.own, directory.path.str()));
  }
  return m_target.transaction->add_end(
      txn::SetMetadata{set_path(directory.path), txn::ident_of(stat), std::move(before), std::move(after)}, d.any());
}

}  // namespace nb::session
