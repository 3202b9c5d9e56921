// SPDX-License-Identifier: Apache-2.0
#include "session/source.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "session/error_message.hpp"
#include "session/interrupt.hpp"

namespace nb::session {
namespace {

constexpr std::chrono::milliseconds k_progress_interval{100};
// After so many names the sink gets what has been announced, so that it walks its tree at the same time.
constexpr std::uint64_t k_names_between_flushes = 500;
constexpr std::chrono::seconds k_farewell{5};

SenderOptions sender_options(const SourceOptions& options, const delta::BlockSigner& signer) {
  return {options.limits.inline_limit_bytes, options.lister.view, options.lister.secret,
          options.lister.digests, options.signatures, &signer};
}

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

}  // namespace

Source::Source(Connection& connection, SourceTree& tree, Reporter& reporter, SourceOptions options)
    : m_connection(connection),
      m_tree(tree),
      m_reporter(reporter),
      m_options(options),
      m_lister(options.lister),
      m_signer(*options.lister.secret),
      m_sender(connection, tree, reporter, sender_options(options, m_signer), [this] { report_progress(); }),
      m_plan(*options.lister.secret) {}

Source::~Source() {
  if (m_receiver.joinable()) m_receiver.join();
}

Status Source::run() {
  for (const Error& error : m_tree.problems()) m_reporter.problem(error);
  m_outcome.mounts = m_tree.mounted_sources();
  m_walk.push_back(m_tree.root());
  m_reporter.phase(wire::PhaseKind::compare);
  m_receiver = std::thread([this] { receive_all(); });
  Status status;
  while (status) {
    const auto work = next_work();
    status = work ? Status{} : tl::make_unexpected(work.error());
    if (!work || *work == Work::finished) break;
    status = interrupt_requested() ? fail(Errc::interrupted, "") : do_work(*work);
    report_progress();
  }
  m_outcome.counts.content_bytes = m_sender.content_bytes();
  return shut_down(std::move(status));
}

// Ends the receiving thread. After an error of ours the sink is told, and given a moment to take notice: closing at
// once could drop what was just sent. When the line broke, what the sink said before may still be on its way: that is
// why.
Status Source::shut_down(Status status) {
  if (status) {
    m_receiver.join();
    return status;
  }
  const bool broke = status.error().code == Errc::connection_lost;
  if (broke || m_connection.send_error(status.error())) {
    std::unique_lock lock(m_mutex);
    m_wake.wait_for(lock, k_farewell, [this] { return m_end.has_value(); });
    if (broke && m_end && !*m_end) status = *m_end;
    const bool receiver_is_done = m_end.has_value();
    lock.unlock();
    if (receiver_is_done) {
      m_receiver.join();
      m_connection.drain();
    }
  }
  m_connection.close_now();
  if (m_receiver.joinable()) m_receiver.join();
  return status;
}

Status Source::do_work(Work work) {
  switch (work) {
    case Work::reply: return answer_next_reply();
    case Work::done: finish_next_done(); break;
    case Work::basis_done: finish_next_basis(); break;
    case Work::want: return serve_want();
    case Work::scan: return scan_next();
    case Work::end_scan: return end_scan();
    case Work::finished: break;
  }
  return {};
}

// What to do next. Replies come first, so that an `all` is known before more is scanned below it; wants before
// scanning, so that the line stays busy. Waits if there is nothing, after everything collected has been written out.
Result<Source::Work> Source::next_work() {
  std::unique_lock lock(m_mutex);
  while (true) {
    if (m_end) {
      if (!*m_end) return tl::make_unexpected(m_end->error());
      return Work::finished;
    }
    if (!m_replies.empty()) return Work::reply;
    if (!m_done.empty()) return Work::done;
    if (!m_basis_done.empty()) return Work::basis_done;
    if (may_serve_want()) return Work::want;
    if (may_scan()) return Work::scan;
    if (m_walk.empty() && !m_scan_ended) return Work::end_scan;
    lock.unlock();
    NB_TRY(m_connection.flush());
    lock.lock();
    m_wake.wait(lock, [this] {
      return m_end || !m_replies.empty() || !m_done.empty() || !m_basis_done.empty() || may_serve_want() || may_scan();
    });
  }
}

// With m_mutex held: at least one listing may be out at any time.
bool Source::may_scan() const {
  return !m_walk.empty() && m_pending_bytes < m_options.limits.listing_credit_bytes;
}

// --- Scanning ---------------------------------------------------------------------------------------------------

Status Source::scan_next() {
  NB_FAILPOINT("session.source.scan");
  const SourceDirectory directory = std::move(m_walk.back());
  m_walk.pop_back();
  std::uint64_t flags = 0;
  if (directory.path.is_root() && m_tree.implied_root()) flags |= wire::k_directory_implied;
  if (directory.is_mount) m_outcome.mounts.push_back(m_tree.absolute(directory));
  if (directory.is_mount && m_options.one_file_system) flags |= wire::k_directory_foreign;
  auto listing = read(directory, flags);
  if (!listing) return tl::make_unexpected(listing.error());
  count(*listing);
  if (listing->empty_source) flags |= wire::k_directory_empty_source;
  if ((flags & wire::k_directory_foreign) == 0) push_children(directory, *listing, directory.stat.device);
  return announce(directory, std::move(*listing), flags);
}

// A directory that cannot be read is announced as partial and empty, with the metadata its parent saw.
Result<SourceListing> Source::read(const SourceDirectory& directory, std::uint64_t& flags) {
  auto listing = m_tree.list(directory, m_lister);
  if (!listing) {
    if (directory.path.is_root()) return tl::make_unexpected(listing.error());
    Error error = listing.error();
    error.code = error.code == Errc::not_found ? Errc::vanished : Errc::unreadable;
    error.context = directory.path.str() + "/";
    m_reporter.problem(error);
    flags |= wire::k_directory_partial;
    SourceListing empty;
    empty.listed.own = fs::Metadata{directory.stat.mode, directory.stat.owner, directory.stat.mtime, {}};
    return empty;
  }
  for (const Error& error : listing->listed.problems) m_reporter.problem(error);
  for (const std::string& gone : listing->listed.vanished) m_reporter.problem({Errc::vanished, 0, gone});
  // What a source that is missing would have had here is not known.
  if (listing->listed.partial || !m_tree.problems().empty()) flags |= wire::k_directory_partial;
  if ((flags & wire::k_directory_foreign) != 0) {
    listing->listed.entries.clear();
    listing->listed.stats.clear();
    listing->origins.clear();
  }
  return std::move(*listing);
}

void Source::push_children(const SourceDirectory& directory, const SourceListing& listing,
                           std::uint64_t parent_device) {
  const auto& entries = listing.listed.entries;
  for (std::size_t i = entries.size(); i-- > 0;) {
    if (entries[i].type != fs::FileType::directory) continue;
    const fs::Stat& stat = listing.listed.stats[i];
    // Below the root, whose entries may come from anywhere, a mount point tells itself.
    const bool is_named = directory.path.is_root() && m_tree.implied_root();
    const bool is_mount = directory.path.is_root() ? stat.mount_root && !is_named : stat.device != parent_device;
    m_walk.push_back({directory.path.child(entries[i].name), listing.origin(i), is_mount, stat});
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
  wire::DirectoryMessage message{id, directory.path, flags, listing.listed.entries.size(),
                                 scan::listing_digest(listing.listed.own, listing.listed.entries,
                                                      *m_options.lister.secret)};
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

Status Source::end_scan() {
  m_scan_ended = true;
  m_outcome.plan_ended = true;
  for (const Error& error : *m_tree.trouble()) m_reporter.problem(error);
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
    const bool is_full = part_bytes >= wire::k_max_listing_part_bytes ||
                         part.entries.size() == wire::k_max_listing_part_entries;
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

// With m_mutex held.
void Source::forget_if_done(std::uint64_t id) {
  const auto it = m_pending.find(id);
  if (it == m_pending.end() || !it->second.done || it->second.open_wants > 0) return;
  m_pending_bytes -= it->second.encoded_bytes;
  m_pending.erase(it);
}

void Source::report_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now - m_last_progress < k_progress_interval) return;
  m_last_progress = now;
  Counts counts = m_outcome.counts;
  counts.content_bytes = m_sender.content_bytes();
  m_connection.count_traffic(counts);
  m_reporter.progress(counts);
}

// --- Receiving thread -------------------------------------------------------------------------------------------

void Source::stop_with(Status status) {
  const std::lock_guard lock(m_mutex);
  if (!m_end) m_end = std::move(status);
  m_wake.notify_all();
}

void Source::receive_all() {
  while (true) {
    const auto message = m_connection.receive();
    if (!message) return stop_with(tl::make_unexpected(message.error()));
    if (!*message) return stop_with(fail(Errc::connection_lost, "the sink ended the connection"));
    const Status taken = take(**message);
    if (!taken) return stop_with(taken);
    const std::lock_guard lock(m_mutex);
    if (m_end) return;
  }
}

// With m_mutex held: what was said of that file was not enough. After its digest a delta or the whole may be wanted,
// after a delta the whole.
bool Source::is_next(const wire::Want& want) const {
  const auto it = m_exchanges.find(want.file);
  if (it == m_exchanges.end() || want.digest_first) return false;
  return it->second == Exchange::digest_told || (it->second == Exchange::delta_sent && !want.basis);
}

Status Source::take_want(const wire::Want& want) {
  const std::lock_guard lock(m_mutex);
  const auto it = m_pending.find(want.file.directory);
  if (it == m_pending.end() || !it->second.sent || (it->second.done && !is_next(want))) {
    return fail(Errc::protocol, "want: no such listing");
  }
  const auto& entries = it->second.listing.listed.entries;
  if (want.file.index >= entries.size()) return fail(Errc::protocol, "want: no such entry");
  const wire::Entry& entry = entries[static_cast<std::size_t>(want.file.index)];
  if (entry.type != fs::FileType::regular || want.offset != 0) return fail(Errc::protocol, "want: not a file");
  if (want.basis && want.basis->size == 0) return fail(Errc::protocol, "want: empty basis");
  if (m_wants.size() + m_parked.size() >= m_options.limits.want_credit) {
    return fail(Errc::protocol, "want: more than the credit");
  }
  if (is_next(want)) {
    m_exchanges.erase(want.file);
  } else {
    if (!it->second.wanted.insert(want.file.index).second) return fail(Errc::protocol, "want: twice");
    ++it->second.open_wants;
  }
  if (want.digest_first) m_exchanges.emplace(want.file, Exchange::digest_asked);
  if (want.basis) m_exchanges.emplace(want.file, Exchange::delta_asked);
  m_wants.push_back(want);
  m_wake.notify_all();
  return {};
}

Status Source::take(const wire::RawMessage& message) {
  using enum wire::MessageType;
  switch (message.type) {
    case directory_reply: {
      NB_TRY_ASSIGN(const auto reply, wire::decode_message<wire::DirectoryReply>(message.body));
      const std::lock_guard lock(m_mutex);
      if (reply.id != m_next_reply++ || !m_pending.contains(reply.id)) {
        return fail(Errc::protocol, "reply out of order");
      }
      m_replies.push_back(reply);
      m_wake.notify_all();
      return {};
    }
    case want: {
      NB_TRY_ASSIGN(const auto want, wire::decode_message<wire::Want>(message.body));
      return take_want(want);
    }
    case signature: {
      NB_TRY_ASSIGN(const auto signature, wire::decode_message<wire::Signature>(message.body));
      return take_signature(signature);
    }
    case basis_done: {
      NB_TRY_ASSIGN(const auto done, wire::decode_message<wire::BasisDone>(message.body));
      return take_basis_done(done);
    }
    case directory_done: {
      NB_TRY_ASSIGN(const auto done, wire::decode_message<wire::DirectoryDone>(message.body));
      const std::lock_guard lock(m_mutex);
      const auto it = m_pending.find(done.id);
      const bool is_answered = done.id < m_next_reply;
      if (it == m_pending.end() || !is_answered || !it->second.sent || it->second.done) {
        return fail(Errc::protocol, "done: no such listing");
      }
      it->second.done = true;
      m_done.push_back(done.id);
      m_wake.notify_all();
      return {};
    }
    case problem: {
      NB_TRY_ASSIGN(const auto problem, wire::decode_message<wire::Problem>(message.body));
      m_reporter.received(problem);
      return {};
    }
    case item: {
      NB_TRY_ASSIGN(const auto item, wire::decode_message<wire::Item>(message.body));
      m_reporter.received(item);
      return {};
    }
    case notice: {
      NB_TRY_ASSIGN(const auto notice, wire::decode_message<wire::Notice>(message.body));
      m_reporter.received(notice);
      return {};
    }
    case phase: {
      NB_TRY_ASSIGN(const auto phase, wire::decode_message<wire::Phase>(message.body));
      m_reporter.received(phase);
      return {};
    }
    case result: {
      if (!m_scan_ended) return fail(Errc::protocol, "result: before the end of the scan");
      NB_TRY_ASSIGN(m_outcome.result, wire::decode_message<wire::RunResult>(message.body));
      stop_with({});
      return {};
    }
    case error: {
      NB_TRY_ASSIGN(const auto error, wire::decode_message<wire::ErrorMessage>(message.body));
      return tl::make_unexpected(from_message(error));
    }
    default: return fail(Errc::protocol, "message not allowed from a sink");
  }
}

}  // namespace nb::session
