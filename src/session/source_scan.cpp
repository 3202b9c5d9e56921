// SPDX-License-Identifier: Apache-2.0
// Source, part three: the walk. Directories are read and announced, and the sink's answers to them are met.
#include <algorithm>

#include "base/failpoint.hpp"
#include "session/source.hpp"

namespace nb::session {
namespace {

// After so many names the sink gets what has been announced, so that it walks its tree at the same time.
constexpr std::uint64_t k_names_between_flushes = 500;

std::size_t encoded_size_at_most(const wire::Entry& entry) {
  std::size_t bytes = 96 + entry.name.size() + entry.target.size() + (entry.link_to ? entry.link_to->str().size() : 0);
  for (const fs::Xattr& attr : entry.meta.xattrs) bytes += 8 + attr.name.size() + attr.value.size();
  return bytes;
}

// What a listing costs in memory is a small multiple of this.
std::uint64_t weight_of(const SourceListing& listing) {
  std::uint64_t bytes = 64;
  for (const wire::Entry& entry : listing.listed.entries) bytes += encoded_size_at_most(entry);
  return bytes;
}

bool is_inline(const wire::Entry& entry, std::uint64_t limit) {
  return entry.type == fs::FileType::regular && !entry.link_to && entry.size <= limit;
}

// What lies below the mount point of a disk that has just gone is not the disk's content.
bool is_below_lost_mount(const SourceDirectory& directory, const scan::Listed& listed) {
  return directory.stat.device != directory.parent_device && listed.device == directory.parent_device;
}

}  // namespace

Status Source::scan_next() {
  NB_FAILPOINT("session.source.scan");
  const SourceDirectory directory = std::move(m_walk.back());
  m_walk.pop_back();
  std::uint64_t flags = 0;
  if (directory.path.is_root() && m_tree.implied_root()) flags |= wire::k_directory_implied;
  if (directory.is_foreign && m_options.one_file_system) flags |= wire::k_directory_foreign;
  auto listing = read(directory, flags);
  if (!listing) return tl::make_unexpected(listing.error());
  m_outcome.mounts.insert(m_outcome.mounts.end(), listing->mounts.begin(), listing->mounts.end());
  count(*listing);
  if (listing->empty_source) flags |= wire::k_directory_empty_source;
  if ((flags & wire::k_directory_foreign) == 0) push_children(directory, *listing, listing->listed.device);
  return announce(directory, std::move(*listing), flags);
}

// A directory that cannot be read is announced as partial and empty, with the metadata that its parent shows. Where
// these are not to be had in full it is foreign too: what the destination has of it stays as it is.
Result<SourceListing> Source::read(const SourceDirectory& directory, std::uint64_t& flags) {
  // What a source that is missing would have had here is not known.
  const bool has_gaps = directory.has_gaps || !m_tree.problems().empty();
  if (has_gaps) flags |= wire::k_directory_partial;
  const bool is_passed = (flags & wire::k_directory_foreign) != 0;
  auto listing = is_passed ? pass(directory) : m_tree.list(directory, m_lister);
  if (listing && is_below_lost_mount(directory, listing->listed)) {
    listing = fail(Errc::changed, directory.path.str() + "/: a mount point, which is not mounted any more");
  }
  if (!listing) {
    if (directory.path.is_root()) return tl::make_unexpected(listing.error());
    m_reporter.problem(listing.error());
    const auto own = m_tree.metadata_of(directory, m_options.lister.view);
    flags |= wire::k_directory_partial;
    if (!own) flags |= wire::k_directory_foreign;
    const fs::Stat& seen = directory.stat;
    SourceListing empty;
    empty.listed.own = own ? *own : fs::Metadata{seen.mode, seen.owner, seen.mtime, {}};
    return empty;
  }
  for (const Error& error : listing->listed.problems) m_reporter.problem(error);
  for (const std::string& gone : listing->listed.vanished) m_reporter.problem({Errc::vanished, 0, gone});
  if (listing->listed.partial) flags |= wire::k_directory_partial;
  return std::move(*listing);
}

// A directory on another file system that is not entered: as it is itself. Nothing in it is looked at.
Result<SourceListing> Source::pass(const SourceDirectory& directory) {
  SourceListing listing;
  NB_TRY_ASSIGN(listing.listed.own, m_tree.metadata_of(directory, m_options.lister.view));
  return listing;
}

void Source::push_children(const SourceDirectory& directory, const SourceListing& listing,
                           std::uint64_t parent_device) {
  const auto& entries = listing.listed.entries;
  for (std::size_t i = entries.size(); i-- > 0;) {
    if (entries[i].type != fs::FileType::directory) continue;
    const fs::Stat& stat = listing.listed.stats[i];
    Origins origins = listing.origin(i);
    bool is_foreign = stat.device != parent_device;
    if (!listing.foreign.empty()) {
      const Origins& foreign = listing.foreign[i];
      const auto is_elsewhere = [&foreign](std::uint16_t each) {
        return std::find(foreign.begin(), foreign.end(), each) != foreign.end();
      };
      // Where only some of the sources have another file system there, it is they that are not entered.
      const bool drops = m_options.one_file_system && foreign.size() < origins.size();
      if (drops) std::erase_if(origins, is_elsewhere);
      is_foreign = is_elsewhere(origins.front());
    }
    const bool has_gaps = directory.has_gaps || listing.gaps.contains(entries[i].name);
    RelPath path = directory.path.child(entries[i].name);
    m_walk.push_back({std::move(path), std::move(origins), is_foreign, has_gaps, stat, parent_device});
  }
}

void Source::count(const SourceListing& listing) {
  ++m_outcome.counts.directories;
  m_outcome.counts.entries += listing.listed.entries.size();
  for (const wire::Entry& entry : listing.listed.entries) m_outcome.counts.total_bytes += entry.size;
}

Status Source::announce(const SourceDirectory& directory, SourceListing listing, std::uint64_t flags) {
  const std::uint64_t id = m_next_id++;
  if ((flags & wire::k_directory_implied) != 0) listing.listed.own.reset();
  wire::DirectoryMessage message{
      id, directory.path, flags, listing.listed.entries.size(),
      scan::listing_digest(listing.listed.own, listing.listed.entries, *m_options.lister.secret)};
  m_plan.update(message.digest.bytes);
  const bool take_all = m_all_below && directory.path.is_within(*m_all_below);
  Pending* pending = nullptr;
  {
    const std::lock_guard lock(m_mutex);
    const std::uint64_t bytes = weight_of(listing);
    Pending waits{directory, std::move(listing), bytes, 0, {}, take_all, false};
    pending = &m_pending.emplace(id, std::move(waits)).first->second;
    m_pending_bytes += bytes;
  }
  // Only now: the reply may come at once.
  NB_TRY(m_connection.send(message));
  m_names_since_flush += message.entries + 1;
  if (m_names_since_flush >= k_names_between_flushes) {
    m_names_since_flush = 0;
    NB_TRY(m_connection.flush());
  }
  if (!take_all) return {};
  NB_TRY(send_listing(id, *pending));
  return send_small_files(id, *pending);
}

// Without its end nothing is committed.
Status Source::end_scan() {
  if (m_options.last_check) NB_TRY(m_options.last_check());
  m_scan_ended = true;
  m_outcome.plan_ended = true;
  for (const Error& error : *m_tree.trouble()) m_reporter.problem(error);
  if (m_options.damage != nullptr && m_options.damage->trouble()) m_reporter.problem(*m_options.damage->trouble());
  m_reporter.phase(wire::PhaseKind::transfer);
  wire::ScanEnd message{m_outcome.counts.directories, m_outcome.counts.entries, m_outcome.counts.total_bytes,
                        m_plan.finish()};
  NB_TRY(m_connection.send(message));
  return m_connection.flush();
}

// --- Answering --------------------------------------------------------------------------------------------------

Status Source::answer_next_reply() {
  wire::DirectoryReply reply;
  {
    const std::lock_guard lock(m_mutex);
    reply = m_replies.front();
    m_replies.pop_front();
  }
  return answer_reply(reply);
}

void Source::finish_next_done() {
  const std::lock_guard lock(m_mutex);
  const std::uint64_t id = m_done.front();
  m_done.pop_front();
  forget_if_done(id);
}

Status Source::answer_reply(wire::DirectoryReply reply) {
  Pending* pending = nullptr;
  bool sent_already = false;
  {
    const std::lock_guard lock(m_mutex);
    const auto it = m_pending.find(reply.id);
    if (it == m_pending.end()) return fail(Errc::protocol, "reply: no such directory");
    pending = &it->second;
    if (reply.kind == wire::ReplyKind::same) {
      pending->done = true;
      forget_if_done(reply.id);
      return {};
    }
    sent_already = pending->sent;
    pending->sent = true;
  }
  if (reply.kind == wire::ReplyKind::all) {
    const RelPath& path = pending->directory.path;
    if (!m_all_below || !path.is_within(*m_all_below)) m_all_below = path;
  }
  if (sent_already) return {};
  if (reply.kind == wire::ReplyKind::list_digests) NB_TRY(add_digests(*pending));
  NB_TRY(send_listing(reply.id, *pending));
  const bool rides = reply.kind == wire::ReplyKind::all || reply.kind == wire::ReplyKind::here;
  return rides ? send_small_files(reply.id, *pending) : Status{};
}

// The sink knows a directory that looked like this one. What is not told here is wanted one by one: large files that
// would have to be read, and what has changed since it was listed.
Status Source::add_digests(Pending& pending) {
  auto& entries = pending.listing.listed.entries;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    wire::Entry& entry = entries[i];
    if (entry.type != fs::FileType::regular || entry.link_to || entry.content) continue;
    const auto effort = entry.size <= hash::k_block_bytes ? ContentSender::Effort::read : ContentSender::Effort::recall;
    NB_TRY_ASSIGN(entry.content, m_sender.digest_of(listed_file(pending, i), effort));
    report_progress();
  }
  return {};
}

Status Source::send_listing(std::uint64_t id, Pending& pending) {
  const auto& entries = pending.listing.listed.entries;
  wire::Listing part;
  part.id = id;
  part.own = pending.listing.listed.own;
  std::size_t part_bytes = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const wire::Entry& entry = entries[i];
    if (pending.listing.listed.stats[i].links > 1 && !entry.link_to && entry.type != fs::FileType::directory) {
      part.shared.push_back(part.entries.size());
    }
    part.entries.push_back(entry);
    part_bytes += encoded_size_at_most(entry);
    const bool is_full =
        part_bytes >= wire::k_max_listing_part_bytes || part.entries.size() == wire::k_max_listing_part_entries;
    if (!is_full || i + 1 == entries.size()) continue;
    part.last = false;
    NB_TRY(m_connection.send(part));
    part = wire::Listing{id, true, {}, {}, {}};
    part_bytes = 0;
  }
  return m_connection.send(part);
}

ContentSender::Listed Source::listed_file(const Pending& pending, std::size_t index) {
  const scan::Listed& listed = pending.listing.listed;
  return {pending.directory.path, pending.listing.origin(index).front(), listed.entries[index], listed.stats[index]};
}

Status Source::send_small_files(std::uint64_t id, Pending& pending) {
  const auto& entries = pending.listing.listed.entries;
  const std::uint64_t limit = m_options.limits.inline_limit_bytes;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (!is_inline(entries[i], limit)) continue;
    NB_TRY(m_sender.send({id, i}, listed_file(pending, i), nullptr));
    report_progress();
  }
  return {};
}

}  // namespace nb::session
