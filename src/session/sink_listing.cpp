// SPDX-License-Identifier: Apache-2.0
// Sink, part three: a listing is compared, name by name, with what is here.
#include "session/sink.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "base/text.hpp"
#include "fs/metadata.hpp"

namespace nb::session {
namespace {

// What can only be had by sending (or making) the file anew.
bool needs_content(const wire::Entry& wanted, const Difference& d) {
  if (d.content || d.size || d.links || wanted.type != fs::FileType::regular) return true;
  return d.time && !wanted.content;
}

std::string link_detail(const wire::Entry& entry) {
  if (entry.type == fs::FileType::symlink) return " -> " + entry.target;
  if (entry.link_to) return " => " + entry.link_to->str();
  return {};
}

}  // namespace

Status Sink::on_listing(wire::Listing message) {
  const auto it = m_open.find(message.id);
  if (it == m_open.end()) return fail(Errc::protocol, "listing: not asked for");
  SinkDirectory& directory = it->second;
  if (!directory.began) NB_TRY(begin_listing(directory, message));
  add_to_digest(directory, message.entries);
  std::size_t next_shared = 0;
  for (std::size_t i = 0; i < message.entries.size(); ++i) {
    const bool shared = next_shared < message.shared.size() && message.shared[next_shared] == i;
    if (shared) ++next_shared;
    NB_TRY(on_entry(directory, std::move(message.entries[i]), shared));
  }
  if (!message.last) return {};
  if (directory.next_index != directory.announced_entries) return fail(Errc::protocol, "listing: entries are missing");
  if (directory.listing->finish() != directory.announced) {
    return fail(Errc::protocol, "listing: its digest is not the one announced");
  }
  NB_TRY(check_children(directory));
  NB_TRY(end_listing(directory));
  m_to_ask.emplace_back(wire::DirectoryDone{message.id});
  m_open.erase(it);
  return {};
}

// The directories announced below it so far must be in its listing; those that follow are checked as they come.
Status Sink::check_children(SinkDirectory& directory) {
  const auto& listed = directory.directories;
  const auto& announced = directory.announced_children;
  if (!std::includes(listed.begin(), listed.end(), announced.begin(), announced.end())) {
    return fail(Errc::protocol, "directory: not in its parent's listing, below " + escape(directory.path.str()) + "/");
  }
  for (Ancestor& ancestor : m_ancestors) {
    if (ancestor.id == directory.id) ancestor.directories = std::move(directory.directories);
  }
  return {};
}

Status Sink::begin_listing(SinkDirectory& directory, const wire::Listing& message) {
  directory.began = true;
  const bool implied = (directory.flags & wire::k_directory_implied) != 0;
  if (implied == message.own.has_value()) return fail(Errc::protocol, "listing: own metadata");
  directory.own = message.own;
  directory.listing = std::make_unique<hash::FileHasher>(scan::begin_listing_digest(message.own, *m_options.secret));
  const Location& at = directory.location;
  if (at.where == Where::staged) {
    NB_TRY_ASSIGN(directory.staged, m_stager->settle_directory(at.spot(), *message.own, directory.path.str()));
  }
  if (at.where == Where::absent || at.where == Where::staged) {
    if (!directory.path.is_root() || !implied) {
      item(item_new(fs::FileType::directory, m_options.direction, false), directory.path);
    }
    ++m_result.files_new;
  }
  return {};
}

// The entry of that name here, if any. Names come in order, so those passed over are extras.
Result<std::optional<PresentEntry>> Sink::present(SinkDirectory& directory, const std::string& name) {
  if ((directory.flags & wire::k_directory_implied) != 0) {
    if (directory.location.where != Where::live) return std::nullopt;
    NB_TRY_ASSIGN(fs::Directory * dir, live(directory.path));
    NB_TRY_ASSIGN(auto one, m_lister.read_one(*dir, directory.path, name, beside()));
    if (!one || one->entries.empty()) return std::nullopt;
    ++m_live_entries;
    return PresentEntry{std::move(one->entries.front()), one->stats.front()};
  }
  if (!directory.present) return std::nullopt;
  auto& entries = directory.present->entries;
  while (directory.next_present < entries.size() && entries[directory.next_present].name < name) {
    NB_TRY(remove_extra(directory, directory.next_present++));
  }
  if (directory.next_present == entries.size() || entries[directory.next_present].name != name) return std::nullopt;
  const std::size_t index = directory.next_present++;
  return PresentEntry{std::move(entries[index]), directory.present->stats[index]};
}

Status Sink::on_entry(SinkDirectory& directory, wire::Entry entry, bool shared) {
  if (directory.next_index >= directory.announced_entries) return fail(Errc::protocol, "listing: too many entries");
  if (entry.name <= directory.last_name) return fail(Errc::protocol, "listing: name out of order");
  directory.last_name = entry.name;
  if (directory.path.is_root()) NB_TRY(check_asked_for(entry.name, entry.type));
  if (directory.location.where == Where::skipped) return drop_entry(directory, entry, shared);
  if (m_target.new_name && directory.path.is_root()) entry.name = *m_target.new_name;
  NB_TRY_ASSIGN(auto here, present(directory, entry.name));
  Status done;
  if (entry.type == fs::FileType::directory) {
    // It is announced on its own; but where it is new here, this directory changes.
    directory.directories.push_back(entry.name);
    if (!here || here->stat.type != fs::FileType::directory) directory.touched = true;
  } else if (!here) {
    done = on_new(directory, entry, shared);
  } else {
    done = on_present(directory, entry, shared, *here);
  }
  ++directory.next_index;
  return done;
}

// Its content comes with the listing, without having been asked for.
bool Sink::rides_along(const SinkDirectory& directory, const wire::Entry& entry) const {
  const bool comes_along = directory.reply == wire::ReplyKind::all || directory.reply == wire::ReplyKind::here;
  return comes_along && entry.type == fs::FileType::regular && !entry.link_to &&
         entry.size <= m_options.inline_limit_bytes;
}

// There is no place for it: what comes of it unasked is received and thrown away.
Status Sink::drop_entry(SinkDirectory& directory, const wire::Entry& entry, bool shared) {
  const wire::FileKey key{directory.id, directory.next_index++};
  const RelPath path = directory.path.child(entry.name);
  if (shared) m_stand_ins[path] = std::nullopt;
  if (!rides_along(directory, entry)) return {};
  ExpectedFile file;
  file.path = path;
  file.size = entry.size;
  file.dropped = true;
  m_expected.emplace(key, std::move(file));
  return {};
}

Status Sink::on_new(SinkDirectory& directory, const wire::Entry& entry, bool shared) {
  ++m_result.files_new;
  item(item_new(entry.type, m_options.direction, entry.link_to.has_value()), directory.path.child(entry.name),
       link_detail(entry));
  return stage(directory, entry, shared, nullptr);
}

Status Sink::on_present(SinkDirectory& directory, const wire::Entry& entry, bool shared, const PresentEntry& here) {
  if (here.stat.type == fs::FileType::directory) return replace_directory(directory, entry, shared, here);
  const bool is_adopted = directory.location.where == Where::staged;
  if (is_adopted) {
    NB_TRY_ASSIGN(const bool kept, keep_adopted(directory, entry, here));
    if (kept) {
      if (shared) m_shared[directory.path.child(entry.name)] = directory.location.entry(entry.name);
      return {};
    }
    return on_new(directory, entry, shared);
  }
  Difference d = compare_entries(entry, here.entry);
  // The first member may have been staged anew while this one looks as it did: they must stay together.
  if (entry.link_to && !d.links && m_shared.contains(*entry.link_to)) d.links = true;
  // Otherwise what is done to the first member is done to this one.
  if (entry.link_to && !d.links) {
    if (d.any() && commits()) m_beside->copy(*entry.link_to, directory.path.child(entry.name));
    return {};
  }
  if (!d.any()) return {};
  const bool others_share = here.stat.links > 1 && !shared;
  const bool in_place = !others_share && (!commits() || m_stager->may_change(here.stat));
  if (!needs_content(entry, d) && in_place) return on_metadata(directory, entry, here);
  ++m_result.files_changed;
  const bool transfers = entry.type == fs::FileType::regular && !entry.link_to;
  const RelPath path = directory.path.child(entry.name);
  item(entry.type == here.entry.type ? item_changed(entry.type, m_options.direction, d, transfers)
                                     : item_new(entry.type, m_options.direction, entry.link_to.has_value()),
       path, link_detail(entry));
  return stage(directory, entry, shared, &here.stat);
}

// Only owner, mode, attributes (or, where contents were compared, times) of a regular file differ.
Status Sink::on_metadata(SinkDirectory& directory, const wire::Entry& entry, const PresentEntry& here) {
  ++m_result.metadata_changed;
  const RelPath path = directory.path.child(entry.name);
  item(item_changed(entry.type, m_options.direction, compare_entries(entry, here.entry), false), path);
  if (!commits()) return {};
  NB_TRY_ASSIGN(fs::Directory * dir, live(directory.path));
  NB_TRY_ASSIGN(fs::Xattrs xattrs, dir->xattrs_at(entry.name));
  NB_TRY_ASSIGN(fs::Metadata literal, m_stager->literal_for(entry.type, entry.meta, path.str()));
  return m_target.transaction->add(
      txn::SetMetadata{set_path(path), txn::ident_of(here.stat),
                       {here.stat.mode, here.stat.owner, here.stat.mtime, std::move(xattrs)}, std::move(literal)});
}

// A directory gives way to something that is none. Without --delete only an empty one does, as with rsync.
Status Sink::replace_directory(SinkDirectory& directory, const wire::Entry& entry, bool shared,
                               const PresentEntry& here) {
  const RelPath path = directory.path.child(entry.name);
  if (directory.location.where == Where::staged) {
    NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(directory.location.entry(entry.name)));
    NB_TRY(fs::remove_tree(*dir, entry.name));
    return on_new(directory, entry, shared);
  }
  const Deletion::Doomed doomed{path, here.stat};
  NB_TRY_ASSIGN(const bool whole, m_deletion->can_go_whole(doomed));
  NB_TRY_ASSIGN(const auto dir, m_target.root->open_directory_path(set_path(path)));
  NB_TRY_ASSIGN(const auto names, dir->list());
  if (!whole || (!names.empty() && !has(wire::k_flag_delete))) {
    m_reporter.problem({Errc::not_empty, 0, path.str() + ": a directory here, not there; --delete would replace it"});
    if (shared) m_stand_ins[path] = std::nullopt;
    return {};
  }
  NB_TRY(m_deletion->plan(doomed, deletion_items()));
  ++m_result.files_changed;
  item(item_new(entry.type, m_options.direction, entry.link_to.has_value()), path, link_detail(entry));
  return stage(directory, entry, shared, &here.stat);
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
      NB_TRY_ASSIGN(const hash::Digest digest, scan::content_digest(*file, entry.size, *m_options.secret));
      good = digest == record->digest;
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

// Brings `entry` into the stage, or asks for its content.
Status Sink::stage(SinkDirectory& directory, const wire::Entry& entry, bool shared,
                   const fs::Stat* present) {
  if (!commits()) {
    // What it would transfer.
    if (entry.type == fs::FileType::regular && !entry.link_to) m_result.content_bytes += entry.size;
    return {};
  }
  const RelPath path = directory.path.child(entry.name);
  const bool in_live = directory.location.where == Where::live;
  if (in_live) {
    NB_TRY_ASSIGN(const bool may, open_up(directory));
    if (!may) {
      if (shared) m_stand_ins[path] = std::nullopt;
      return {};
    }
  }
  if (in_live && present == nullptr) {
    NB_TRY_ASSIGN(fs::Directory * parent, live(directory.path));
    const Status taken = m_stager->check_name(*parent, set_path(path));
    if (!taken) {
      if (shared) m_stand_ins[path] = std::nullopt;
      return per_file(taken, path);
    }
  }
  directory.touched = true;
  const std::optional<txn::Ident> replaced = present ? std::optional(txn::ident_of(*present)) : std::nullopt;
  if (entry.type == fs::FileType::regular && in_live && !entry.link_to) {
    NB_TRY_ASSIGN(const bool resumed, stage_resumed(directory, entry, shared, replaced));
    if (resumed) return {};
  }
  ExpectedFile file{path, in_live ? m_stager->new_spot() : directory.location.entry(entry.name), in_live,
                    replaced, shared, entry.meta, entry.size, false, {}, false, false};
  NB_TRY_ASSIGN(const bool taken, take_listed(directory, entry, file));
  if (taken) return {};
  NB_TRY(offer_basis(entry, present, file));
  file.digest_asked = asks_for_digest(directory, entry, file, present);
  if (entry.link_to) {
    const RelPath leader = stand_in(*entry.link_to, path);
    if (leader != path) {
      m_links.push_back({path, leader, file.spot, in_live, file.replaced});
      return {};
    }
    file.shared = true;
  }
  if (entry.type == fs::FileType::regular) return expect_content(directory, entry, std::move(file));
  auto node = m_stager->make_special(file.spot, entry, path.str());
  if (!node) return per_file(tl::make_unexpected(node.error()), path);
  if (file.shared) m_shared[path] = file.spot;
  if (!in_live) return {};
  return add_place(path, file.spot, *node, file.replaced);
}

// Who is linked to in place of `leader`: itself, as a rule. Where it could not be planned, the next member of its group
// that comes along, `path`, is sent and takes its place.
RelPath Sink::stand_in(const RelPath& leader, const RelPath& path) {
  const auto it = m_stand_ins.find(leader);
  if (it == m_stand_ins.end()) return leader;
  if (!it->second) it->second = path;
  return *it->second;
}

// A file of its own in the stage of an interrupted run, checked before use.
Result<bool> Sink::stage_resumed(SinkDirectory& directory, const wire::Entry& entry, bool shared,
                                 const std::optional<txn::Ident>& replaced) {
  const RelPath path = directory.path.child(entry.name);
  NB_TRY_ASSIGN(const auto record, m_target.transaction->find_staged(set_path(path)));
  const bool is_whole_file = record && !record->is_tree && !record->is_partial;
  if (!is_whole_file || record->size != entry.size || record->mtime != entry.meta.mtime) return false;
  Spot spot;
  spot.slot = record->slot;
  NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(spot));
  const auto file = dir->open_file(Stager::name_of(spot), fs::OpenMode::read);
  if (!file) return false;
  NB_TRY_ASSIGN(const fs::Stat stat, (*file)->stat());
  if (stat.size != entry.size || stat.links != 1) return false;
  NB_TRY_ASSIGN(const hash::Digest digest, scan::content_digest(**file, entry.size, *m_options.secret));
  if (digest != record->digest) return false;
  NB_TRY_ASSIGN(const StagedNode node, m_stager->finish_file(spot, **file, entry.meta, path.str()));
  m_result.resumed_bytes += entry.size;
  const ExpectedFile resumed{path, spot, true, replaced, shared, {}, 0, false, {}, false, false};
  NB_TRY(staged(resumed, node, digest, entry.meta, entry.size));
  return true;
}

Status Sink::expect_content(SinkDirectory& directory, const wire::Entry& entry, ExpectedFile file) {
  const wire::FileKey key{directory.id, directory.next_index};
  if (file.shared) m_shared[file.path] = std::nullopt;
  if (!rides_along(directory, entry)) m_to_ask.emplace_back(want_for(key, file));
  m_expected.emplace(key, std::move(file));
  return {};
}

// --- Extras and the directory itself --------------------------------------------------------------------------------

Status Sink::remove_extra(SinkDirectory& directory, std::size_t index) {
  const wire::Entry& entry = directory.present->entries[index];
  const RelPath path = directory.path.child(entry.name);
  if (directory.location.where == Where::staged) {
    NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(directory.location.entry(entry.name)));
    return fs::remove_tree(*dir, entry.name);
  }
  constexpr std::uint64_t k_keeps = wire::k_directory_implied | wire::k_directory_partial | wire::k_directory_foreign;
  if (!has(wire::k_flag_delete) || (directory.flags & k_keeps) != 0) {
    directory.extras.push_back(entry.name);
    return {};
  }
  NB_TRY_ASSIGN(const auto doomed, m_deletion->plan({path, directory.present->stats[index]}, deletion_items()));
  if (!commits()) return {};
  if (doomed.empty() || doomed.front().path != path) directory.extras.push_back(entry.name);
  for (const Deletion::Doomed& each : doomed) {
    const bool is_here = each.path == path;
    NB_TRY_ASSIGN(const bool may, is_here ? open_up(directory) : open_up_path(each.path.parent()));
    if (!may) continue;
    m_beside->remove(each.path);
    directory.touched |= is_here;
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
  NB_TRY_ASSIGN(fs::Directory * dir, live(path));
  if (dir->writable()) return true;
  const auto known = m_closed.find(path);
  if (known != m_closed.end()) return known->second;
  NB_TRY_ASSIGN(const fs::Stat stat, dir->stat());
  const bool may = m_stager->may_change(stat);
  m_closed.emplace(path, may);
  if (!may) {
    m_reporter.problem({Errc::not_permitted, 0, path.str() + "/ at the destination: owned by someone else"});
    return false;
  }
  NB_TRY(m_target.transaction->add(
      txn::OpenUp{set_path(path), txn::ident_of(stat), stat.mode, stat.mode | 0700}));
  return true;
}

Status Sink::end_listing(SinkDirectory& directory) {
  if (directory.present && (directory.flags & wire::k_directory_implied) == 0) {
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
  return m_target.transaction->add_end(txn::SetMetadata{set_path(directory.path), directory.staged->ident,
                                                       directory.staged->literal, directory.staged->literal});
}

Status Sink::end_live_directory(SinkDirectory& directory) {
  if (!directory.own) return {};
  const Difference d = compare_metadata(*directory.own, *directory.present->own);
  if (d.any()) {
    ++m_result.metadata_changed;
    item(item_changed(fs::FileType::directory, m_options.direction, d, false), directory.path);
  }
  if (!commits() || (!d.any() && !directory.touched)) return {};
  NB_TRY_ASSIGN(fs::Directory * dir, live(directory.path));
  NB_TRY_ASSIGN(const fs::Stat stat, dir->stat());
  if (!m_stager->may_change(stat)) {
    if (d.any()) m_reporter.problem({Errc::not_permitted, 0, directory.path.str() + "/: owned by someone else here"});
    return {};
  }
  NB_TRY_ASSIGN(fs::Xattrs xattrs, dir->xattrs());
  fs::Metadata before{stat.mode, stat.owner, stat.mtime, std::move(xattrs)};
  fs::Metadata after = before;
  if (d.any()) {
    NB_TRY_ASSIGN(after, m_stager->literal_for(fs::FileType::directory, *directory.own, directory.path.str()));
  }
  return m_target.transaction->add_end(
      txn::SetMetadata{set_path(directory.path), txn::ident_of(stat), std::move(before), std::move(after)});
}

}  // namespace nb::session
