// SPDX-License-Identifier: Apache-2.0
// Sink, part three: a listing is compared, name by name, with what is here.
#include "session/sink.hpp"

#include <algorithm>
#include <cerrno>

#include "fs/metadata.hpp"
#include "hash/digest.hpp"

namespace nb::session {
namespace {

// What can only be had by sending (or making) the file anew.
bool needs_content(const wire::Entry& wanted, const Difference& d) {
  if (d.content || d.size || d.links || wanted.type != fs::FileType::regular) return true;
  return d.time && !wanted.content;
}

fs::Meant read_back(fs::FileType type, std::uint64_t size, const fs::Metadata& meta) {
  fs::Stat stat;
  stat.type = type;
  stat.size = size;
  stat.mode = meta.mode;
  stat.owner = meta.owner;
  stat.mtime = meta.mtime;
  return fs::meant_of(stat, meta.xattrs);
}

// A symlink that a file stands for: what the file holds is its target, of which a listing has the size, and the digest
// where contents are compared.
void read_as_target(const wire::Entry& present, const hash::Secret& secret, wire::Entry& file) {
  const bool is_same = file.size == present.target.size() &&
                       (!file.content || *file.content == hash::digest_of(as_bytes(present.target), secret));
  if (is_same) file.target = present.target;
  file.size = 0;
}

std::string first_of(const RelPath& path) { return path.str().substr(0, path.str().find('/')); }

// What varies in an entry, as far as the source counts it.
std::uint64_t bytes_of(const wire::Entry& entry) {
  std::uint64_t bytes = entry.name.size() + entry.target.size() + (entry.link_to ? entry.link_to->str().size() : 0);
  for (const fs::Xattr& attr : entry.meta.xattrs) bytes += attr.name.size() + attr.value.size();
  return bytes;
}

}  // namespace

// A tree that does not last holds attributes with reserved names as they are, and is read as sets are.
bool Sink::is_read_otherwise(const fs::Metadata& wanted) const {
  const bool literal = m_target.set == nullptr || reserved_names_in(*m_target.set) == fs::ReservedNames::as_they_are;
  return literal && fs::has_reserved_names(wanted.xattrs);
}

Difference Sink::compare(const wire::Entry& wanted, const wire::Entry& present) const {
  if (!is_read_otherwise(wanted.meta)) return compare_entries(wanted, present);
  wire::Entry as_read = wanted;
  fs::Meant meant = read_back(wanted.type, wanted.size, wanted.meta);
  as_read.type = meant.type;
  as_read.node = meant.node;
  as_read.meta = std::move(meant.meta);
  if (meant.type == fs::FileType::symlink) read_as_target(present, *m_options.secret, as_read);
  return compare_entries(as_read, present);
}

Difference Sink::compare(const fs::Metadata& wanted, const fs::Metadata& present) const {
  if (!is_read_otherwise(wanted)) return compare_metadata(wanted, present);
  return compare_metadata(read_back(fs::FileType::directory, 0, wanted).meta, present);
}

Status Sink::on_listing(wire::Listing message) {
  const auto it = m_open.find(message.id);
  if (it == m_open.end()) return fail(Errc::protocol, "listing: not asked for");
  SinkDirectory& directory = it->second;
  if (!directory.began) NB_TRY(check_riding());
  if (!directory.began) NB_TRY(begin_listing(directory, message));
  add_to_digest(directory, message.entries);
  std::size_t next_shared = 0;
  for (std::size_t i = 0; i < message.entries.size(); ++i) {
    const bool shared = next_shared < message.shared.size() && message.shared[next_shared] == i;
    if (shared) ++next_shared;
    charge(message.id, bytes_of(message.entries[i]));
    m_following = std::span<const wire::Entry>(message.entries).subspan(i + 1);
    NB_TRY(on_entry(directory, std::move(message.entries[i]), shared));
  }
  NB_TRY(check_credit());
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
    return fail(Errc::protocol, "directory: not in its parent's listing, below " + directory.path.str() + "/");
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
    const fs::Metadata& own = message.own ? *message.own : *m_root_metadata;
    NB_TRY_ASSIGN(directory.staged, m_stager->settle_directory(at.spot(), own, directory.path.str()));
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
  const Where where = directory.location.where;
  if (where == Where::absent) return std::nullopt;
  if (where == Where::live && (directory.flags & wire::k_directory_implied) != 0) {
    NB_TRY_ASSIGN(fs::Directory * dir, live(directory.path));
    NB_TRY_ASSIGN(const auto other, m_names->other_name(*dir, name));
    if (other && *other != name) return std::nullopt;  // another's
    NB_TRY_ASSIGN(auto one, m_lister.read_one(*dir, directory.path, name, beside()));
    if (!one) return std::nullopt;
    if (one->entries.empty()) {
      for (const Error& error : one->problems) m_reporter.problem(error);
      return std::nullopt;
    }
    spoil_damaged(*one);
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
  // What it is linked to becomes part of what is transferred.
  if (entry.link_to) NB_TRY(check_asked_for(first_of(*entry.link_to), entry.type));
  if (directory.location.where == Where::skipped) return drop_entry(directory, entry, shared);
  if (m_target.new_name && directory.path.is_root()) entry.name = *m_target.new_name;
  NB_TRY_ASSIGN(auto here, present(directory, entry.name));
  if (!m_target.base.is_root() && entry.type != fs::FileType::directory) {
    const RelPath path = directory.path.child(entry.name);
    if (is_too_long(path)) {
      NB_TRY(per_file(fail(Errc::unreadable, "", ENAMETOOLONG), path));
      return drop_entry(directory, entry, shared);
    }
  }
  Status done;
  if (entry.type == fs::FileType::directory) {
    // It is announced on its own; but where it is new here, this directory changes.
    directory.directories.push_back(entry.name);
    if (!here || here->stat.type != fs::FileType::directory) directory.touched = true;
  } else if (!here) {
    done = on_missing(directory, entry, shared);
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
  file.counted = false;
  file.rides = true;
  ++m_riding;
  m_expected.emplace(key, std::move(file));
  return {};
}

// A live file that is there and could not be looked at, which has been told.
Result<std::optional<fs::Stat>> Sink::unread(const SinkDirectory& directory, const std::string& name) {
  const bool may_be = directory.location.where == Where::live && (!directory.present || directory.present->partial);
  if (!may_be) return std::nullopt;
  NB_TRY_ASSIGN(auto stat, here_itself(directory, name));
  if (stat && stat->type != fs::FileType::regular) stat.reset();
  return stat;
}

// What the live directory has under this very name.
Result<std::optional<fs::Stat>> Sink::here_itself(const SinkDirectory& directory, const std::string& name) {
  NB_TRY_ASSIGN(const fs::Directory* const dir, live(directory.path));
  const auto stat = dir->stat_at(name);
  if (!stat) return std::nullopt;
  NB_TRY_ASSIGN(const auto other, m_names->other_name(*dir, name));
  return other ? std::nullopt : std::optional(*stat);
}

// Whether something is here under that name that the rules exclude, as a directory where the source has a file.
Result<bool> Sink::is_hidden(const SinkDirectory& directory, const std::string& name) {
  const bool any_rules = m_options.rules != nullptr && !m_options.rules->empty();
  if (!any_rules || directory.location.where != Where::live) return false;
  NB_TRY_ASSIGN(const auto stat, here_itself(directory, name));
  return stat.has_value();
}

Status Sink::refuse_hidden(const SinkDirectory& directory, const wire::Entry& entry, bool shared) {
  const RelPath path = directory.path.child(entry.name);
  if (shared) m_stand_ins[path] = std::nullopt;
  m_reporter.problem({Errc::exists, 0, path.str() + " at the destination, where the name is excluded"});
  return {};
}

// The listing here lacks the name. One that is there and could not be looked at is replaced: taken for a new one it would
// be somebody's who made it meanwhile, and earlier generations would not have it.
Status Sink::on_missing(SinkDirectory& directory, const wire::Entry& entry, bool shared) {
  NB_TRY_ASSIGN(const bool hidden, is_hidden(directory, entry.name));
  if (hidden) return refuse_hidden(directory, entry, shared);
  NB_TRY_ASSIGN(const auto unknown, unread(directory, entry.name));
  if (!unknown) return on_new(directory, entry, shared);
  Difference difference;
  difference.content = true;
  return on_changed(directory, entry, shared, unknown->type, *unknown, difference);
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
    NB_TRY_ASSIGN(const bool kept, keep_adopted(directory, entry, shared, here));
    if (kept) {
      if (shared) m_shared.put(directory.path.child(entry.name), directory.location.entry(entry.name));
      return {};
    }
    return on_new(directory, entry, shared);
  }
  Difference d = compare(entry, here.entry);
  // The first member may have been staged anew while this one looks as it did: they must stay together.
  if (entry.link_to && !d.links && m_shared.contains(*entry.link_to)) d.links = true;
  // The same file here, and the first member was not found to differ: it was not announced, or could not be planned.
  if (commits() && entry.link_to && !d.links && d.any() && needs_content(entry, d)) {
    m_stand_ins.try_emplace(*entry.link_to, std::nullopt);
    d.links = true;
  }
  // Otherwise what is done to the first member is done to this one.
  if (entry.link_to && !d.links) {
    if (d.any() && commits()) m_beside->copy(*entry.link_to, directory.path.child(entry.name));
    return {};
  }
  if (!d.any()) return {};
  const bool others_share = here.stat.links > 1 && !shared;
  const bool in_place = !others_share && (!commits() || fs::acts_as_owner(here.stat));
  if (!needs_content(entry, d) && in_place) return on_metadata(directory, entry, here);
  return on_changed(directory, entry, shared, here.entry.type, here.stat, d);
}

// What is here makes room for what the source has.
Status Sink::on_changed(SinkDirectory& directory, const wire::Entry& entry, bool shared, fs::FileType type,
                        const fs::Stat& stat, const Difference& difference) {
  ++m_result.files_changed;
  const bool transfers = entry.type == fs::FileType::regular && !entry.link_to;
  item(entry.type == type ? item_changed(entry.type, m_options.direction, difference, transfers)
                          : item_new(entry.type, m_options.direction, entry.link_to.has_value()),
       directory.path.child(entry.name), link_detail(entry));
  return stage(directory, entry, shared, &stat);
}

// Only owner, mode, attributes (or, where contents were compared, times) of a regular file differ.
Status Sink::on_metadata(SinkDirectory& directory, const wire::Entry& entry, const PresentEntry& here) {
  ++m_result.metadata_changed;
  const RelPath path = directory.path.child(entry.name);
  item(item_changed(entry.type, m_options.direction, compare(entry, here.entry), false), path);
  if (!commits()) return {};
  NB_TRY_ASSIGN(fs::Directory * dir, live(directory.path));
  NB_TRY_ASSIGN(fs::Xattrs xattrs, dir->xattrs_at(entry.name));
  NB_TRY_ASSIGN(fs::Metadata literal, m_stager->literal_for(entry.type, entry.meta, path.str()));
  remember_content(path, here.stat, literal.mtime);
  NB_TRY(log_time(entry, path, here.stat, literal.mtime));
  return m_target.transaction->add(
      txn::SetMetadata{set_path(path),
                       txn::ident_of(here.stat),
                       {here.stat.mode, here.stat.owner, here.stat.mtime, std::move(xattrs)},
                       std::move(literal)});
}

// A scrub that finds a file under another mtime than it has known takes that for somebody's edit.
Status Sink::log_time(const wire::Entry& entry, const RelPath& path, const fs::Stat& now, fs::Timestamp mtime) {
  if (!entry.content || mtime == now.mtime) return {};
  txn::StagedRecord record;
  record.path = set_path(path);
  record.slot = txn::k_no_slot;
  record.size = now.size;
  record.mtime = mtime;
  record.digest = *entry.content;
  record.inode = now.inode;
  record.born = now.born;
  return m_target.transaction->log_staged(record);
}

// Its ctime will be another one, its content will not.
void Sink::remember_content(const RelPath& path, const fs::Stat& now, fs::Timestamp mtime) {
  if (now.type != fs::FileType::regular || now.size <= hash::k_block_bytes) return;
  const auto digest = m_bases->digest_of(set_path(path), now);
  if (!digest) return;
  txn::Ident ident = txn::ident_of(now);
  ident.mtime = mtime;
  m_bases->begin_file(set_path(path));
  m_bases->stage(set_path(path), ident, now.size, *digest);
}

// Why a directory cannot make room for a file; nothing if it can.
Result<std::optional<std::string>> Sink::what_keeps(const Deletion::Doomed& doomed) {
  NB_TRY_ASSIGN(const bool whole, m_deletion->can_go_whole(doomed));
  if (!whole) return std::optional<std::string>("it is, or holds, what may not be deleted");
  NB_TRY_ASSIGN(const auto dir, m_target.root->open_directory_path(set_path(doomed.path)));
  NB_TRY_ASSIGN(const auto names, dir->list());
  if (names.empty() || has(wire::k_flag_delete)) return std::nullopt;
  return std::optional<std::string>("--delete would replace it");
}

// A directory gives way to something that is none. Without --delete only an empty one does, and one that has to stay
// for what is in it loses the rest with --delete, as with rsync.
Status Sink::replace_directory(SinkDirectory& directory, const wire::Entry& entry, bool shared,
                               const PresentEntry& here) {
  const RelPath path = directory.path.child(entry.name);
  // The destination was a name for the file when it was looked at.
  if (m_target.new_name) return fail(Errc::changed, set_path(path).str() + " is a directory now");
  if (directory.location.where == Where::staged) {
    NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(directory.location.entry(entry.name)));
    NB_TRY(fs::remove_tree(*dir, entry.name));
    return on_new(directory, entry, shared);
  }
  const Deletion::Doomed doomed{path, here.stat};
  const auto reason = what_keeps(doomed);
  if ((!reason || *reason) && shared) m_stand_ins[path] = std::nullopt;
  if (!reason) return per_file(tl::make_unexpected(reason.error()), path);
  if (*reason) {
    m_reporter.problem({Errc::not_empty, 0, path.str() + ": a directory here, not there; " + **reason});
    return has(wire::k_flag_delete) ? remove_live(directory, entry.name, here.stat) : Status{};
  }
  NB_TRY(m_deletion->plan(doomed, deletion_items()));
  ++m_result.files_changed;
  item(item_new(entry.type, m_options.direction, entry.link_to.has_value()), path, link_detail(entry));
  return stage(directory, entry, shared, &here.stat);
}

}  // namespace nb::session
