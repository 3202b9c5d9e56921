// SPDX-License-Identifier: Apache-2.0
#include "session/sink.hpp"

#include <algorithm>

#include "base/failpoint.hpp"
#include "session/error_message.hpp"
#include "session/interrupt.hpp"
#include "session/sink_history.hpp"
#include "txn/prune.hpp"

namespace nb::session {
namespace {

constexpr std::chrono::milliseconds k_progress_interval{100};
// Where neither --max-delete nor the set's policy says it: this many go without asking, or half of the entries if that
// is more.
constexpr std::uint64_t k_free_deletions = 1000;

// Only the real file system's objects may be used by several threads; on one processor they would only take turns.
unsigned writer_threads(const fs::Directory& root) {
  constexpr unsigned k_most = 4;
  const unsigned processors = std::thread::hardware_concurrency();
  return root.kernel_path() && processors > 1 ? std::min(processors, k_most) : 0;
}

wire::PhaseKind phase_of(txn::CommitPhase phase) {
  switch (phase) {
    case txn::CommitPhase::sync: return wire::PhaseKind::sync;
    case txn::CommitPhase::commit: return wire::PhaseKind::commit;
    case txn::CommitPhase::cleanup: return wire::PhaseKind::cleanup;
  }
  return wire::PhaseKind::commit;
}

}  // namespace

scan::Compare Sink::compares() const {
  const bool contents = m_options.mode == SinkMode::verify || has(wire::k_flag_checksum);
  return contents ? scan::Compare::content : scan::Compare::stat;
}

scan::ListerOptions Sink::lister_options(Clock& clock) {
  const bool verifies = m_options.mode == SinkMode::verify;
  scan::BareMemory* bare = m_options.bare;
  if (bare == nullptr && lasts() && !has(wire::k_flag_paranoid)) {
    bare = &m_bare.emplace([this] { return m_bases->store(); }, clock);
  }
  return {scan::MetadataView::kept,
          compares(),
          m_options.rules,
          m_options.secret,
          verifies ? nullptr : m_options.digests,
          bare,
          may_go_on};
}

Sink::Sink(Connection& connection, SinkTarget target, SinkOptions options, Reporter& reporter, Clock& clock)
    : m_connection(connection),
      m_target(std::move(target)),
      m_options(options),
      m_reporter(reporter),
      m_clock(clock),
      m_lister(lister_options(clock)),
      m_stage_lister({scan::MetadataView::kept, scan::Compare::stat, nullptr, options.secret, nullptr, nullptr}),
      m_plan(*options.secret) {
  if (m_target.set != nullptr) {
    const auto use = commits() ? KeptBeside::Use::write : KeptBeside::Use::read;
    m_beside.emplace(*m_target.set, KeptBeside::Place{m_target.base, {}}, use,
                     [&reporter](const Error& error) { reporter.problem(error); });
  }
  if (m_target.set != nullptr && m_options.mode != SinkMode::verify) m_damage.add(*m_target.set);
  if (m_target.root != nullptr) m_names.emplace(*m_target.root, m_target.set, m_target.transaction);
  if (!commits()) return;
  m_stager.emplace(*m_target.set, *m_target.transaction, reporter, beside());
  m_writers.emplace(writer_threads(*m_target.root));
  m_bases.emplace(*m_target.root, lasts() ? m_target.set : nullptr, *m_target.transaction, *options.secret,
                  has(wire::k_flag_paranoid) ? Belief::nothing : Belief::manifest, reporter);
  m_bases->distrust_all(m_damage);
  if (lasts()) m_mover.emplace(*m_target.root, *m_target.transaction, *m_stager, *m_bases, *options.secret);
}

RelPath Sink::set_path(const RelPath& path) const { return m_target.base.join(path); }

// Below the set's root, as the journal has it; the source has checked its own part alone.
bool Sink::is_too_long(const RelPath& path) const {
  const std::size_t base = m_target.base.str().size();
  return base != 0 && base + 1 + path.str().size() > k_max_path_bytes;
}

void Sink::item(std::string change, const RelPath& path, std::string detail) {
  if (m_options.mode == SinkMode::verify) differs();
  if (has(wire::k_flag_itemize)) m_reporter.item({std::move(change), path, std::move(detail)});
}

// Told of each deletion, where anybody wants to know.
Deletion::Visit Sink::deletion_items() {
  if (m_options.mode != SinkMode::verify && !has(wire::k_flag_itemize)) return {};
  return [this](const RelPath& gone, fs::FileType type) { item(item_deleted(), gone, deleted_detail(type)); };
}

Result<wire::RunResult> Sink::run() {
  if (m_target.root) m_deletion.emplace(*m_target.root, m_target.base, m_options.rules, m_reporter);
  if (commits()) tell_conflicts(m_target.transaction->recovered_conflicts());
  Status status;
  while (status && !is_complete()) {
    status = step();
    if (interrupt_requested()) status = fail(Errc::interrupted, "");
  }
  if (status) {
    auto result = finish();
    if (result) return result;
    status = tl::make_unexpected(result.error());
  }
  // What has come so far is resume data, the last of it too.
  static_cast<void>(finish_writing());
  if (commits()) static_cast<void>(m_target.transaction->flush_log());
  return tl::make_unexpected(status.error());
}

// Everything planned has come, and nothing more can.
bool Sink::is_complete() const { return m_scan_end && m_open.empty() && m_expected.empty() && m_to_ask.empty(); }

Status Sink::step() {
  if (m_connection.drained()) {
    if (m_writers) m_writers->hand_over();
    NB_TRY(pump_wants());
    NB_TRY(m_connection.flush());
  }
  NB_TRY_ASSIGN(const auto message, m_connection.receive());
  if (!message) return fail(Errc::connection_lost, "the source ended the connection");
  NB_TRY(take(*message));
  NB_TRY(pump_wants());
  report_progress();
  return {};
}

template <class Message, class Argument>
Status Sink::decode(const wire::RawMessage& message, Status (Sink::*work)(Argument)) {
  NB_TRY_ASSIGN(Message body, wire::decode_message<Message>(message.body));
  return (this->*work)(std::move(body));
}

template <class Message>
Status Sink::on_report(const Message& message) {
  m_reporter.received(message);
  return {};
}

// The sink knows better where the run is.
Status Sink::on_phase(const wire::Phase&) { return {}; }

Status Sink::take(const wire::RawMessage& message) {
  using enum wire::MessageType;
  switch (message.type) {
    case directory: return decode<wire::DirectoryMessage>(message, &Sink::on_directory);
    case listing: return decode<wire::Listing>(message, &Sink::on_listing);
    case file_digest: return decode<wire::FileDigest>(message, &Sink::on_file_digest);
    case small_file: return decode<wire::SmallFile>(message, &Sink::on_small_file);
    case file_begin: return decode<wire::FileBegin>(message, &Sink::on_file_begin);
    case data: return decode<wire::Data>(message, &Sink::on_data);
    case copy: return decode<wire::Copy>(message, &Sink::on_copy);
    case signature_request: return decode<wire::SignatureRequest>(message, &Sink::on_signature_request);
    case hole: return decode<wire::Hole>(message, &Sink::on_hole);
    case file_end: return decode<wire::FileEnd>(message, &Sink::on_file_end);
    case scan_end: return decode<wire::ScanEnd>(message, &Sink::on_scan_end);
    case problem: return decode<wire::Problem>(message, &Sink::on_report<wire::Problem>);
    case notice: return decode<wire::Notice>(message, &Sink::on_report<wire::Notice>);
    case phase: return decode<wire::Phase>(message, &Sink::on_phase);
    case error: {
      NB_TRY_ASSIGN(const auto error, wire::decode_message<wire::ErrorMessage>(message.body));
      return tl::make_unexpected(from_message(error));
    }
    default: return fail(Errc::protocol, "message not allowed from a source");
  }
}

Status Sink::on_scan_end(const wire::ScanEnd& message) {
  if (m_scan_end) return fail(Errc::protocol, "scan end: sent twice");
  NB_TRY(check_riding());
  if (message.directories != m_next_id || message.entries != m_entries || message.plan != m_plan.finish()) {
    return fail(Errc::protocol, "scan end: does not fit what was announced");
  }
  m_scan_end = message;
  return {};
}

void Sink::report_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now - m_last_progress < k_progress_interval) return;
  m_last_progress = now;
  Counts counts;
  counts.directories = m_next_id;
  counts.entries = m_entries;
  counts.content_bytes = m_result.content_bytes;
  m_connection.count_traffic(counts);
  m_reporter.progress(counts);
}

// --- The end ------------------------------------------------------------------------------------------------------

// Where the client says nothing, or has no say.
Result<Sink::DeletionLimit> Sink::usual_deletions() const {
  const DeletionLimit share{std::max(k_free_deletions, m_live_entries / 2), "where none is named"};
  if (m_target.set == nullptr) return share;
  const Result<txn::SetPolicy> policy = txn::policy_of(*m_target.set);
  if (policy && policy->max_delete) return DeletionLimit{*policy->max_delete, "of the set's policy"};
  // A damaged policy stops no backup; but it may have been the narrower limit of who is not trusted.
  if (!policy && m_options.always_limits_deletion) return tl::make_unexpected(policy.error());
  return share;
}

Result<Sink::DeletionLimit> Sink::most_deletions() const {
  if (m_options.max_delete == k_usual_max_delete) return usual_deletions();
  const std::uint64_t asked =
      m_options.max_delete == k_no_max_delete ? UINT64_MAX : static_cast<std::uint64_t>(m_options.max_delete);
  const DeletionLimit named{asked, "of --max-delete"};
  if (!m_options.always_limits_deletion) return named;
  NB_TRY_ASSIGN(const DeletionLimit usual, usual_deletions());
  return usual.count < asked ? usual : named;
}

Status Sink::check_deletions() const {
  const std::uint64_t planned = deletions();
  if (planned == 0) return {};
  NB_TRY_ASSIGN(const DeletionLimit limit, most_deletions());
  if (planned <= limit.count) return {};
  return fail(Errc::max_delete, std::to_string(planned) + " entries would go; the limit " + std::string(limit.whose) +
                                    " is " + std::to_string(limit.count));
}

void Sink::tell_conflicts(const std::vector<RelPath>& paths) {
  for (const RelPath& path : paths) {
    m_reporter.problem({Errc::foreign_edit, 0, path.str() + " (kept in .nbackup/conflict)"});
  }
}

Status Sink::commit() {
  std::optional<InterruptShield> shield;
  txn::CommitOptions options;
  options.wait_readers = m_options.wait_readers;
  options.go_on = may_go_on;
  options.on_phase = [this](txn::CommitPhase phase) { m_reporter.phase(phase_of(phase)); };
  options.on_commit_point = [&shield] { shield.emplace(); };
  options.keep_history = !has(wire::k_flag_no_history);
  options.account = {m_options.client, m_result.files_new, m_result.files_changed + m_result.metadata_changed,
                     m_result.deleted, m_result.content_bytes};
  NB_TRY_ASSIGN(const txn::CommitOutcome outcome, m_target.transaction->commit(options));
  tell_conflicts(outcome.conflicts);
  m_result.committed = outcome.changed;
  // Of a set that goes with this run nobody can ask for a generation.
  if (lasts()) m_result.generation = outcome.generation;
  m_result.durability_unsure = outcome.changed && !outcome.durable;
  if (!outcome.changed) return {};
  // Where history is kept these names are the old files.
  if (m_mover && !outcome.kept_history) m_mover->drop_second_names(m_target.base);
  m_beside->confirm();
  m_bases->confirm();
  return {};
}

// What the source has is whole again; the rest is somebody's to know of.
void Sink::settle_damage() {
  const std::size_t left = KnownDamage::settle(*m_target.set);
  m_result.damaged_files = left;
  if (left == 0) return;
  m_reporter.notice(std::to_string(left) + (left == 1 ? " file of this set is" : " files of this set are") +
                    " damaged, as a scrub has found; 'nbackup heal' may restore what this run did not");
}

Result<wire::RunResult> Sink::finish() {
  NB_FAILPOINT("session.sink.planned");
  m_result.deleted = deletions();
  if (m_options.mode != SinkMode::verify) NB_TRY(check_deletions());
  if (commits()) {
    NB_TRY(finish_writing());
    NB_TRY(settle_moves());
    NB_TRY(make_links());
    NB_TRY(settle_waiting());
    NB_TRY(end_bystanders());
    NB_TRY(m_target.transaction->flush_log());
    m_result.kept_aside = m_stager->kept_aside();
    NB_TRY(m_names->end());
    NB_TRY(m_beside->flush());
    if (m_deletion) NB_TRY(m_deletion->check_again());
    NB_TRY(commit());
    settle_damage();
    if (lasts()) describe_set(*m_target.set, m_result);
  }
  m_result.problems = m_reporter.problems();
  // The commit stands, whether or not anybody is left to hear of it.
  NB_FAILPOINT("session.sink.committed");
  static_cast<void>(m_connection.send(m_result));
  static_cast<void>(m_connection.flush());
  return m_result;
}

}  // namespace nb::session
