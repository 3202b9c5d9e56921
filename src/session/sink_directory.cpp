// SPDX-License-Identifier: Apache-2.0
// Sink, part two: where an announced directory is, and what is asked of the source about it.
#include "session/sink.hpp"

#include <algorithm>
#include <cerrno>

#include "base/failpoint.hpp"
#include "session/interrupt.hpp"
#include "txn/locate.hpp"

namespace nb::session {
namespace {

// What a source counts against the credit for a directory and for each of its entries, at the least
// (docs/protocol.md, "Flow").
constexpr std::uint64_t k_least_listing_bytes = 64;
constexpr std::uint64_t k_least_entry_bytes = 96;

// Of a listing, without the entries at the rising indices `but`.
std::vector<std::string> directories_in(const std::vector<wire::Entry>& entries, const std::vector<std::size_t>& but) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const bool counts = entries[i].type == fs::FileType::directory && !std::binary_search(but.begin(), but.end(), i);
    if (counts) names.push_back(entries[i].name);
  }
  return names;
}

}  // namespace

Status Sink::on_directory(const wire::DirectoryMessage& message) {
  if (message.id != m_next_id || m_scan_end) return fail(Errc::protocol, "directory: out of turn");
  ++m_next_id;
  NB_TRY(check_credit());
  NB_TRY(check_riding());
  m_entries += message.entries;
  m_plan.update(message.digest.bytes);
  NB_TRY(check_order(message));
  NB_TRY(check_root(message));
  SinkDirectory directory;
  directory.id = message.id;
  directory.path = message.path;
  directory.flags = message.flags;
  directory.announced_entries = message.entries;
  directory.announced = message.digest;
  NB_TRY(locate(message, directory));
  m_ancestors.push_back({message.id, message.path, directory.location, {}, {}});
  NB_TRY(guard_empty_source(message, directory));
  NB_TRY_ASSIGN(const bool differs, reply_to(message, directory));
  NB_TRY(m_connection.send(wire::DirectoryReply{message.id, directory.reply}));
  if (!differs) return {};
  m_open.emplace(message.id, std::move(directory));
  charge(message.id, k_least_listing_bytes + message.entries * k_least_entry_bytes);
  return {};
}

void Sink::charge(std::uint64_t id, std::uint64_t bytes) {
  m_unfinished[id] += bytes;
  m_unfinished_bytes += bytes;
}

// Whoever keeps to the credit announces nothing while what is unfinished takes as much; so nothing but the directory
// announced last may lie beyond it.
Status Sink::check_credit() const {
  const auto last = m_unfinished.find(m_next_id - 1);
  const std::uint64_t others = m_unfinished_bytes - (last == m_unfinished.end() ? 0 : last->second);
  if (others == 0 || others < m_options.listing_credit_bytes) return {};
  return fail(Errc::protocol, "directory: more than the credit");
}

// The contents that come with a listing come right behind it.
Status Sink::check_riding() const {
  return m_riding == 0 ? Status{} : fail(Errc::protocol, "small file: not right behind its listing");
}

// What may come at all: of a tree that was asked for by name, nothing but that name.
Status Sink::check_root(const wire::DirectoryMessage& message) const {
  const bool implied = (message.flags & wire::k_directory_implied) != 0;
  if (!message.path.is_root() && implied) return fail(Errc::protocol, "directory: implied below the root");
  if (message.path.depth() == 1) return check_asked_for(std::string(message.path.name()), fs::FileType::directory);
  if (!message.path.is_root()) return {};
  if (implied != has(wire::k_flag_implied_root)) {
    return fail(Errc::protocol, "directory: the root's whole content, or names of it: not what was agreed");
  }
  if (m_options.root_names && !implied) return fail(Errc::protocol, "directory: its whole content was not asked for");
  if (has(wire::k_flag_single_file) && (!implied || message.entries > 1)) {
    return fail(Errc::protocol, "directory: more than the single file");
  }
  return {};
}

Status Sink::check_asked_for(const std::string& name, fs::FileType type) const {
  if (m_options.root_names && !m_options.root_names->contains(name)) {
    return fail(Errc::protocol, "not asked for: " + std::string(name));
  }
  if (has(wire::k_flag_single_file) && type == fs::FileType::directory) {
    return fail(Errc::protocol, "a directory in place of the single file: " + std::string(name));
  }
  return {};
}

// Depth first, names rising: each directory is a child of the last one that is still open, after its elder siblings.
Status Sink::check_order(const wire::DirectoryMessage& message) {
  if (message.id == 0) {
    if (!message.path.is_root()) return fail(Errc::protocol, "directory: the first is not the root");
    return {};
  }
  const RelPath parent = message.path.parent();
  while (!m_ancestors.empty() && m_ancestors.back().path != parent) m_ancestors.pop_back();
  if (m_ancestors.empty() || message.path.is_root() || message.path.name() <= m_ancestors.back().last_child) {
    return fail(Errc::protocol, "directory: out of order: " + message.path.str());
  }
  m_ancestors.back().last_child = message.path.name();
  return check_listed(m_ancestors.back().last_child);
}

// Its parent's listing names it as a directory, or will: the two may come in either order.
Status Sink::check_listed(const std::string& name) {
  const Ancestor& parent = m_ancestors.back();
  const auto waits = m_open.find(parent.id);
  if (waits != m_open.end()) {
    waits->second.announced_children.push_back(name);
    return {};
  }
  const auto& listed = parent.directories;
  if (!listed || std::binary_search(listed->begin(), listed->end(), name)) return {};
  return fail(Errc::protocol, "directory: not in its parent's listing: " + std::string(name));
}

Status Sink::locate(const wire::DirectoryMessage& message, SinkDirectory& directory) {
  if (message.id == 0) return locate_root(directory);
  const Location& parent = m_ancestors.back().location;
  const bool has_place = parent.where == Where::live || parent.where == Where::staged;
  if (has_place && is_too_long(directory.path)) return give_up(directory, {Errc::unreadable, ENAMETOOLONG, ""});
  switch (parent.where) {
    case Where::live: return locate_live(directory);
    case Where::staged: return locate_in_tree(directory);
    case Where::absent: directory.location.where = Where::absent; return {};
    case Where::skipped: directory.location = given_up(parent); return {};
  }
  return {};
}

// It cannot be read or made here: a problem of its own, the rest goes on. Other errors end the run.
Status Sink::give_up(SinkDirectory& directory, Error error) {
  if (!concerns_one_path(error)) return tl::make_unexpected(std::move(error));
  error.context = at_destination(directory.path.str() + "/", error);
  m_reporter.problem(error);
  skip(directory);
  return {};
}

Status Sink::locate_live(SinkDirectory& directory) {
  const auto parent = live(directory.path.parent());
  if (!parent) return give_up(directory, parent.error());
  const auto stat = (*parent)->stat_at(directory.path.name());
  if (!stat && stat.error().code != Errc::not_found) return give_up(directory, stat.error());
  if (!stat) {
    const Status taken = commits() ? m_names->check_new(set_path(directory.path)) : Status();
    return taken ? locate_new(directory, std::nullopt) : give_up(directory, taken.error());
  }
  NB_TRY_ASSIGN(const auto other, m_names->other_name(**parent, std::string(directory.path.name())));
  if (other) return locate_beside(directory, *other);
  if (stat->type != fs::FileType::directory) return locate_in_place_of(directory, *stat);
  NB_TRY_ASSIGN(const fs::Stat parent_stat, (*parent)->stat());
  if (m_options.mode != SinkMode::verify && !fs::same_mount(*stat, parent_stat)) {
    return fail(Errc::cross_device, set_path(directory.path).str());
  }
  directory.location.where = Where::live;
  return {};
}

// What the rules exclude stays, whatever the source has under its name.
Status Sink::locate_in_place_of(SinkDirectory& directory, const fs::Stat& present) {
  const fs::NamedType name{std::string(directory.path.name()), present.type};
  if (!m_lister.excludes(directory.path.parent(), name)) return locate_new(directory, present);
  m_reporter.problem({Errc::exists, 0, directory.path.str() + "/ at the destination, where the name is excluded"});
  skip(directory);
  return {};
}

// The top of a new tree: it will enter by one rename.
Status Sink::locate_new(SinkDirectory& directory, const std::optional<fs::Stat>& replaced) {
  if (!commits()) {
    directory.location.where = Where::absent;
    return {};
  }
  const bool is_root = directory.path.is_root();  // stage_root has asked
  NB_TRY_ASSIGN(const bool may, is_root ? true : open_up_path(directory.path.parent()));
  if (!may) {
    skip(directory);
    return {};
  }
  const RelPath path = set_path(directory.path);
  NB_TRY_ASSIGN(const auto record, m_target.transaction->find_staged(path));
  const bool resumes = record && record->is_tree;
  Spot spot;
  if (resumes) {
    spot.slot = record->slot;
  } else {
    spot = m_stager->new_spot();
  }
  directory.location = {Where::staged, spot.slot, {}, false, false};
  NB_TRY(adopt_or_make(directory, spot, resumes ? Leftover::possible : Leftover::none));
  txn::StagedRecord tree;
  tree.path = path;
  tree.slot = spot.slot;
  tree.is_tree = true;
  NB_TRY(m_target.transaction->log_staged(tree));
  NB_TRY_ASSIGN(const fs::Stat made, m_target.transaction->slots().stat_at(Stager::name_of(spot)));
  std::optional<txn::Ident> old;
  if (replaced) old = txn::ident_of(*replaced);
  return enter(directory.path, txn::Place{path, spot.slot, txn::ident_of(made), old});
}

Status Sink::locate_in_tree(SinkDirectory& directory) {
  const Location& parent = m_ancestors.back().location;
  directory.location = parent.child(directory.path.name());
  const Status made =
      adopt_or_make(directory, directory.location.spot(), parent.adopted ? Leftover::possible : Leftover::none);
  return made ? made : give_up(directory, made.error());
}

// An interrupted run may have left the directory, or something else under its name. Where it cannot have, a name that
// is taken is another name that this file system holds to be the same.
Status Sink::adopt_or_make(SinkDirectory& directory, const Spot& spot, Leftover leftover) {
  if (leftover == Leftover::none) return m_stager->make_directory(spot);
  NB_TRY_ASSIGN(fs::Directory * dir, m_stager->directory(spot));
  const std::string name = Stager::name_of(spot);
  const auto stat = dir->stat_at(name);
  // That one is another's, of this run or the one before.
  NB_TRY_ASSIGN(const auto other, m_names->other_name(*dir, name));
  if (other) return fail(Errc::exists, *other);
  directory.location.adopted = stat && stat->type == fs::FileType::directory;
  if (directory.location.adopted) {
    NB_TRY_ASSIGN(const auto node, dir->open_node(name));
    NB_TRY(node->set_mode(stat->mode | 0700));
    return Stager::strip_adopted(*node);
  }
  if (stat) NB_TRY(dir->remove_file(name));
  return m_stager->make_directory(spot);
}

// A source that shows nothing where the set has something is more likely unmounted than emptied.
Status Sink::guard_empty_source(const wire::DirectoryMessage& message, const SinkDirectory& directory) const {
  if ((message.flags & wire::k_directory_empty_source) == 0) return {};
  if ((message.flags & wire::k_directory_partial) != 0) return {};
  // Where another source has something, only what --delete would take is at stake.
  if (message.entries > 0 && !has(wire::k_flag_delete)) return {};
  if (directory.location.where != Where::live || has(wire::k_flag_allow_empty)) return {};
  if (m_options.mode == SinkMode::verify) return {};
  NB_TRY_ASSIGN(const auto dir, m_target.root->open_directory_path(set_path(message.path)));
  NB_TRY_ASSIGN(const auto names, dir->list());
  if (std::all_of(names.begin(), names.end(), [](const auto& each) { return is_reserved_name(each.name); })) return {};
  return fail(Errc::guard_empty_source, "/" + message.path.str());
}

// Decides the reply; true if a listing will come.
Result<bool> Sink::reply_to(const wire::DirectoryMessage& message, SinkDirectory& directory) {
  NB_FAILPOINT("session.sink.directory");
  const bool foreign = (message.flags & wire::k_directory_foreign) != 0;
  Location& at = directory.location;
  if (at.where == Where::skipped) {
    directory.reply = at.dropped ? wire::ReplyKind::all : wire::ReplyKind::same;
    return at.dropped;
  }
  if (foreign && at.where == Where::live) return false;
  directory.reply = at.where == Where::staged ? reply_for_new(message, directory) : wire::ReplyKind::list;
  if (at.where == Where::absent || (at.where == Where::staged && !at.adopted)) return true;
  if (at.where == Where::live && (message.flags & wire::k_directory_implied) != 0) return true;
  return compare_digest(message, directory);
}

// The same with what is here already; true if a listing will come.
Result<bool> Sink::compare_digest(const wire::DirectoryMessage& message, SinkDirectory& directory) {
  const Location& at = directory.location;
  auto listed = list_present(directory);
  const auto leave = [this, &directory] {
    m_ancestors.back().location = directory.location;
    directory.reply = wire::ReplyKind::same;
    return false;
  };
  if (interrupt_requested()) return fail(Errc::interrupted, "");
  if (!listed) {
    NB_TRY(give_up(directory, {Errc::unreadable, listed.error().sys_errno, {}}));
    return leave();
  }
  const bool may_write = at.where == Where::live && m_options.mode != SinkMode::verify;
  if (listed->holds_set && may_write) {
    const Status own = guard_nested(set_path(directory.path));
    // The source has told that it could not read it.
    if (!own && (message.flags & wire::k_directory_partial) != 0 && message.entries == 0) {
      skip(directory);
      return leave();
    }
    NB_TRY(own);
  }
  for (const Error& error : listed->problems) m_reporter.problem(error);
  if (at.where == Where::live) m_live_entries += listed->entries.size();
  directory.present = std::move(*listed);
  const auto& found = *directory.present;
  const bool is_same = found.entries.size() == message.entries && !found.partial &&
                       scan::listing_digest(found.own, found.entries, *m_options.secret) == message.digest;
  if (at.where == Where::staged) return true;
  if (!is_same && !is_same_but_extras(message, directory)) return true;
  directory.reply = wire::ReplyKind::same;
  m_ancestors.back().directories = directories_in(found.entries, directory.extra_indices);
  if (takes_all()) note_listing(directory);
  if (!directory.extra_indices.empty()) NB_TRY(remove_known_extras(directory));
  return false;
}

// What lies in a nested set is that set's to change, with its own generations.
Status Sink::guard_nested(const RelPath& in_set) const {
  if (in_set.is_root()) return {};
  if (!txn::is_set(*m_target.root, in_set)) return {};
  return fail(Errc::nested_set, in_set.str() + "/");
}

Result<scan::Listed> Sink::list_present(const SinkDirectory& directory) {
  const Location& at = directory.location;
  if (at.where == Where::live) {
    NB_TRY_ASSIGN(fs::Directory * handle, live(directory.path));
    NB_TRY_ASSIGN(scan::Listed listed, m_lister.read(*handle, directory.path, beside()));
    spoil_damaged(listed);
    return listed;
  }
  const RelPath slot = RelPath().child(txn::Transaction::slot_name(at.slot));
  NB_TRY_ASSIGN(const auto handle, m_target.transaction->slots().open_directory_path(slot.join(at.below)));
  return m_stage_lister.read(*handle, directory.path);
}

// A damaged file is to differ from whatever the source has.
void Sink::spoil_damaged(scan::Listed& listed) const {
  if (m_damage.empty()) return;
  for (std::size_t i = 0; i < listed.entries.size(); ++i) {
    if (m_damage.has(listed.stats[i])) listed.entries[i].size = UINT64_MAX;
  }
}

Result<fs::Directory*> Sink::live_in_set(const RelPath& path) {
  if (m_live && m_live_path == path) return m_live.get();
  NB_TRY_ASSIGN(m_live, m_target.root->open_directory_path(path));
  m_live_path = path;
  return m_live.get();
}

}  // namespace nb::session
