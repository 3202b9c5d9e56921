// SPDX-License-Identifier: Apache-2.0
#include "session/client.hpp"

#include "base/random.hpp"
#include "base/text.hpp"
#include "session/handshake.hpp"
#include "session/interrupt.hpp"
#include "session/mount_point.hpp"
#include "session/past_source.hpp"
#include "session/pull_setup.hpp"
#include "session/run_options.hpp"
#include "session/sink_history.hpp"
#include "session/sink_setup.hpp"
#include "session/source_setup.hpp"
#include "transport/retry.hpp"

namespace nb::session {
namespace {

Result<wire::Id> random_id() {
  wire::Id id{};
  NB_TRY(random_bytes(id));
  return id;
}

// A directory that was a mount point at the last push and is none now would be pushed as empty.
Status guard_mounts(const Job& job) {
  if (job.allow_unmounted) return {};
  for (const std::string& path : job.expected_mounts) {
    if (!has_lost_mount(path)) continue;
    return fail(Errc::guard_mount_point, path);
  }
  return {};
}

bool is_of_the_link(Errc code) {
  return code == Errc::connect || code == Errc::connection_lost || code == Errc::timeout ||
         code == Errc::connect_timeout;
}

// One run, over as many connections as it takes.
class Run {
 public:
  Run(const Job& job, const Connector& connect, Observer& observer, Clock& clock)
      : m_job(job), m_connect(connect), m_observer(observer), m_clock(clock) {}

  Status begin() {
    NB_TRY_ASSIGN(m_transaction, random_id());
    if (m_job.operation != wire::Operation::push) return {};
    if (m_job.at) return {};
    NB_TRY(guard_mounts(m_job));
    // Before anybody is asked for a password; what the run reads from is opened anew by each attempt, which may be hours
    // later.
    NB_TRY(SourceTree::open(m_job.sources, std::nullopt));
    return {};
  }

  Result<RunReport> attempt() {
    NB_TRY_ASSIGN(const auto stream, m_connect());
    Connection connection(*stream, {std::chrono::duration_cast<std::chrono::milliseconds>(m_job.options.inactivity)});
    Reporter reporter(Side::client, m_observer, connection);
    auto report = session(connection, reporter);
    if (!report) {
      connection.send_error(report.error());
      if (report.error().code == Errc::interrupted && !interrupt_requested()) {
        return fail(Errc::connection_lost, "the other side was interrupted");
      }
      // A terminal interrupts both sides, and the other one may be gone first.
      if (is_of_the_link(report.error().code) && interrupt_requested()) return fail(Errc::interrupted, "");
      return report;
    }
    say_goodbye(connection);
    connection.count_traffic(report->counts);
    report->problems += reporter.problems();
    if (report->exit_code == 0) report->exit_code = exit_code(*report, reporter);
    return report;
  }

  [[nodiscard]] bool is_worth_retrying(Errc code) const { return is_of_the_link(code) || is_asking_too_early(code); }

  // What is asked about may still hold the lock: a sync of much data takes its time.
  [[nodiscard]] bool is_asking_too_early(Errc code) const { return m_may_be_committed && code == Errc::locked; }

  // What ended the run, and what it leaves open.
  [[nodiscard]] Error last_words(Error error) const {
    if (!m_may_be_committed) return error;
    if (!error.context.empty()) error.context += "; ";
    error.context += "the destination may still be committing; the next run, or 'nbackup recover', tells";
    return error;
  }

 private:
  static int exit_code(const RunReport& report, const Reporter& reporter) {
    const int problems = reporter.exit_code();
    if (problems != 0) return problems;
    return report.result.differences > 0 ? info(Errc::differs).exit_code : 0;
  }

  Result<RunReport> session(Connection& connection, Reporter& reporter) {
    NB_TRY_ASSIGN(const wire::Hello peer, exchange_hello(connection, m_job.limits, Side::client));
    if (m_job.on_hello) m_job.on_hello(peer);
    compress(connection, peer, m_job.options.compression);
    if (m_may_be_committed) {
      NB_TRY_ASSIGN(auto known, ask_for_commit(connection));
      if (known) return std::move(*known);
    }
    return m_job.operation == wire::Operation::push ? push(connection, reporter, peer)
                                                    : pull(connection, reporter, peer);
  }

  Result<std::optional<RunReport>> ask_for_commit(Connection& connection) {
    m_observer.on_notice("asking whether the interrupted attempt was committed");
    NB_TRY(connection.send(wire::Query{m_transaction, m_job.destination}));
    NB_TRY(connection.flush());
    NB_TRY_ASSIGN(const auto reply, receive<wire::QueryReply>(connection));
    m_may_be_committed = reply.committed;
    if (!reply.committed) return std::nullopt;
    RunReport report = m_last;
    report.result.committed = true;
    report.result.generation = reply.generation;
    report.counts_lost = true;
    m_observer.on_notice("the commit was completed before the connection was lost");
    return report;
  }

  wire::Open open_message() const {
    wire::Open open;
    open.operation = m_job.operation;
    open.transaction = m_transaction;
    open.client = m_job.client;
    open.flags = m_job.options.flags;
    open.filter_rules = m_job.options.filter_rules;
    open.max_delete = m_job.options.max_delete;
    open.wait_seconds = static_cast<std::uint64_t>(m_job.options.wait.count());
    open.compression = codec::encode(m_job.options.compression);
    open.wait_readers_seconds = static_cast<std::uint64_t>(m_job.options.wait_readers.count());
    return open;
  }

  Result<wire::Opened> open(Connection& connection, Reporter& reporter, const wire::Open& message) {
    NB_TRY(wire::check_open(message));
    NB_TRY(connection.send(message));
    NB_TRY(connection.flush());
    while (true) {
      NB_TRY_ASSIGN(const auto raw, receive_one_of(connection, {wire::MessageType::opened, wire::MessageType::notice}));
      if (raw.type == wire::MessageType::opened) return wire::decode_message<wire::Opened>(raw.body);
      NB_TRY_ASSIGN(const auto notice, wire::decode_message<wire::Notice>(raw.body));
      reporter.received(notice);
    }
  }

  Result<SourceSetup> set_up_sources(const std::optional<wire::Id>& destination_set) {
    const SourceReader reader{m_job.client, m_job.stay_within, destination_set};
    if (m_job.at) return set_up_past_source(m_job.sources, *m_job.at, reader, m_clock);
    NB_TRY(guard_mounts(m_job));
    return set_up_source(m_job.sources, reader, m_clock);
  }

  // What lies in a set may have changed while nobody held it.
  Result<SourceSetup> set_up_again(SourceSetup before, const std::optional<wire::Id>& destination_set) {
    if (before.held.sets.empty()) return before;
    NB_TRY_ASSIGN(SourceSetup now, set_up_sources(destination_set));
    if (now.tree.implied_root() == before.tree.implied_root() &&
        now.tree.is_single_file() == before.tree.is_single_file()) {
      return now;
    }
    return fail(Errc::path, "a source has become something else while the destination was waited for; run this again");
  }

  Result<RunReport> push(Connection& connection, Reporter& reporter, const wire::Hello& peer) {
    NB_TRY_ASSIGN(SourceSetup seen, set_up_sources(std::nullopt));
    NB_TRY_ASSIGN(const filter::Rules rules, rules_of(m_job.options.filter_rules));
    wire::Open message = open_message();
    message.destination = m_job.destination;
    message.expected_set = m_job.expected_set;
    if (seen.tree.implied_root()) message.flags |= wire::k_flag_implied_root;
    if (seen.tree.is_single_file()) message.flags |= wire::k_flag_single_file;
    // Whoever the destination is waited for may be about to commit to a set that is read.
    seen.held.let_go();
    NB_TRY_ASSIGN(const wire::Opened opened, open(connection, reporter, message));
    if (m_job.on_opened) NB_TRY(m_job.on_opened(opened));
    NB_TRY_ASSIGN(SourceSetup setup, set_up_again(std::move(seen), opened.set));
    if (opened.resumes) reporter.notice("continuing an interrupted run: what was staged is used again");
    NB_TRY_ASSIGN(const hash::Secret secret, hash::Secret::from_bytes(opened.secret, Errc::protocol));
    SourceOptions options = source_options(setup, m_job.options.flags, m_job.limits, peer, {rules, secret});
    options.lister.digests = m_job.digests;
    options.lister.bare = m_job.bare;
    options.lister.own_files = m_job.own_files;
    options.signatures = m_job.signatures;
    // A disk may be unplugged meanwhile, and be unmounted for that.
    options.last_check = [this] { return m_job.at ? Status{} : guard_mounts(m_job); };
    Source source(connection, setup.tree, reporter, options);
    const Status done = source.run();
    RunReport report;
    report.set = opened.set;
    report.counts = source.outcome().counts;
    report.mounts = source.outcome().mounts;
    if (!done) {
      // The other side says that it was interrupted only before its commit point.
      const bool has_no_answer =
          is_of_the_link(done.error().code) || (done.error().code == Errc::interrupted && interrupt_requested());
      m_may_be_committed =
          source.outcome().plan_ended && mode_of(m_job.options.flags) == SinkMode::commit && has_no_answer;
      return lost(reporter, std::move(report), done.error());
    }
    report.result = *source.outcome().result;
    // What it would send.
    if ((m_job.options.flags & wire::k_flag_dry_run) != 0) report.counts.content_bytes = report.result.content_bytes;
    return report;
  }

  // Another attempt may only find out that this one was committed: its problems count then.
  Result<RunReport> lost(const Reporter& reporter, RunReport report, Error error) {
    report.problems = reporter.problems();
    report.exit_code = reporter.exit_code();
    m_last = std::move(report);
    return tl::make_unexpected(std::move(error));
  }

  Result<RunReport> pull(Connection& connection, Reporter& reporter, const wire::Hello& peer) {
    // Before the source is held: whoever is waited for may be about to commit to it.
    const txn::OnWait on_wait = [&reporter](const std::string& text) { reporter.notice(text); };
    NB_TRY_ASSIGN(const std::chrono::seconds wait, await_destination(m_job, m_transaction, on_wait, m_clock));
    NB_TRY_ASSIGN(const LocalSecret local, local_secret(m_job.destination));
    const hash::Secret& secret = local.secret;
    NB_TRY_ASSIGN(const filter::Rules rules, rules_of(m_job.options.filter_rules));
    wire::Open message = open_message();
    message.sources = m_job.sources;
    message.at = m_job.at;
    message.secret.assign(secret.stored().begin(), secret.stored().end());
    NB_TRY_ASSIGN(const wire::Opened opened, open(connection, reporter, message));
    NB_TRY(check_shape(m_job, opened));
    SinkRequest request = pull_request(m_job, m_transaction, opened, secret);
    request.wait = wait;
    request.on_wait = on_wait;
    NB_TRY_ASSIGN(SinkSetup setup, set_up_sink(request, m_clock));
    if (setup.secret->id() != secret.id()) return fail(Errc::locked, "the destination's file set was made meanwhile");
    SinkOptions options = pull_options(m_job, opened, peer, {rules, *setup.secret});
    // Digests under a secret that ends with this run would never be asked for again.
    if (local.origin == SecretOrigin::of_a_set) options.digests = m_job.digests;
    options.bare = m_job.bare;
    Sink sink(connection, setup.target(), options, reporter, m_clock);
    NB_TRY_ASSIGN(const wire::RunResult result, sink.run());
    if (setup.transaction) {
      // The new generation stands; the next run clears what is left.
      const Status cleaned = setup.transaction->clean_up();
      if (!cleaned) reporter.notice("what is no longer needed could not be removed: " + cleaned.error().message());
      settle_history(
          setup, result, RunHistory::kept, [&reporter](const std::string& text) { reporter.notice(text); }, m_clock);
    }
    RunReport report;
    report.result = result;
    if (m_job.at) report.read_generation = opened.generation;
    report.counts.content_bytes = result.content_bytes;
    report.counts.directories = sink.scan_end()->directories;
    report.counts.entries = sink.scan_end()->entries;
    report.counts.total_bytes = sink.scan_end()->bytes;
    return report;
  }

  const Job& m_job;
  const Connector& m_connect;
  Observer& m_observer;
  Clock& m_clock;
  wire::Id m_transaction{};
  bool m_may_be_committed = false;
  RunReport m_last;
};

// Waits in small steps, so that an interrupt is noticed.
Status back_off(Clock& clock, std::chrono::milliseconds delay) {
  const SteadyTime until = clock.steady() + delay;
  while (clock.steady() < until) {
    if (interrupt_requested()) return fail(Errc::interrupted, "");
    clock.pause(std::chrono::milliseconds(50));
  }
  return {};
}

Result<RunReport> try_again_and_again(Run& run, const Job& job, const RetryPolicy& retry, Observer& observer,
                                      Clock& clock) {
  std::optional<SteadyTime> patience;  // for the commit that is asked about
  unsigned failures = 0;
  for (unsigned attempt = 1;; ++attempt) {
    auto report = run.attempt();
    if (report || !run.is_worth_retrying(report.error().code)) return report;
    const bool too_early = run.is_asking_too_early(report.error().code);
    if (too_early && !patience) patience = clock.steady() + job.options.wait;
    const bool waits = too_early && clock.steady() < *patience;
    if (!waits && ++failures > retry.attempts) return report;
    std::uint64_t random = 0;
    NB_TRY(random_bytes(std::as_writable_bytes(std::span(&random, 1))));
    const auto delay = transport::back_off_delay({retry.first_delay, std::chrono::minutes(1)}, attempt, random);
    const std::string seconds = std::to_string(delay.count() / 1000 + 1);
    observer.on_notice(report.error().message() + "; trying again in " + seconds + " s");
    NB_TRY(back_off(clock, delay));
  }
}

}  // namespace

Result<RunReport> run(const Job& job, const Connector& connect, const RetryPolicy& retry, Observer& observer,
                      Clock& clock) {
  Run run(job, connect, observer, clock);
  NB_TRY(run.begin());
  auto report = try_again_and_again(run, job, retry, observer, clock);
  if (!report) return tl::make_unexpected(run.last_words(std::move(report.error())));
  return report;
}

}  // namespace nb::session
