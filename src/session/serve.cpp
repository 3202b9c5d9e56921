// SPDX-License-Identifier: Apache-2.0
#include "session/serve.hpp"

#include <algorithm>
#include <atomic>

#include "base/text.hpp"
#include "session/handshake.hpp"
#include "session/past_source.hpp"
#include "session/run_options.hpp"
#include "session/sink_history.hpp"
#include "session/sink_setup.hpp"
#include "session/source_setup.hpp"
#include "txn/locate.hpp"

namespace nb::session {
namespace {

constexpr std::initializer_list<wire::MessageType> k_requests{wire::MessageType::open, wire::MessageType::command,
                                                              wire::MessageType::query, wire::MessageType::goodbye};

// One session of the remote end.
class Server {
 public:
  Server(transport::ByteStream& stream, const ServeOptions& options, Observer& observer, Clock& clock)
      : m_options(options),
        m_clock(clock),
        m_connection(stream, {std::chrono::duration_cast<std::chrono::milliseconds>(options.inactivity)}),
        m_reporter(Side::server, observer, m_connection) {}

  Status run() {
    const Status done = while_memory_lasts([this] { return session(); });
    if (!done) {
      m_connection.send_error(done.error());
      m_connection.drain();
      return done;
    }
    // The client ends the connection; until it has, what was sent last may still be on its way.
    while (true) {
      const auto message = m_connection.receive();
      if (!message && message.error().code == Errc::protocol) return tl::make_unexpected(message.error());
      if (!message || !*message) return {};
    }
  }

 private:
  Status session() {
    NB_TRY_ASSIGN(m_peer, exchange_hello(m_connection, m_options.limits, Side::server));
    bool answered = false;
    while (true) {
      NB_TRY_ASSIGN(const auto raw, receive_one_of(m_connection, k_requests));
      if (raw.type == wire::MessageType::goodbye) {
        // The answer was all that the client wanted to know.
        NB_TRY(wire::decode_message<wire::Goodbye>(raw.body));
        return answered ? Status() : fail(Errc::protocol, "goodbye before anything was asked for");
      }
      if (raw.type == wire::MessageType::query) {
        answered = true;
        NB_TRY_ASSIGN(const auto query, wire::decode_message<wire::Query>(raw.body));
        NB_TRY(answer(query));
        continue;
      }
      if (raw.type == wire::MessageType::command) {
        NB_TRY_ASSIGN(const auto command, wire::decode_message<wire::Command>(raw.body));
        NB_TRY(compress(command.compression));
        NB_TRY(answer_command(m_connection, command, m_options.on_command, m_options.on_client_gone));
        // A client that has closed its half by now is to get all of it too.
        m_connection.finish_sending();
        return {};
      }
      NB_TRY_ASSIGN(const auto open, wire::decode_message<wire::Open>(raw.body));
      NB_TRY(compress(open.compression));
      return open.operation == wire::Operation::push ? receive_push(open) : send_pull(open);
    }
  }

  // As the client wishes, which alone knows what the user wants.
  Status compress(std::uint64_t code) {
    NB_TRY_ASSIGN(const codec::Compression wish, codec::decode_compression(code));
    session::compress(m_connection, m_peer, wish);
    return {};
  }

  Status answer(const wire::Query& query) {
    wire::QueryReply reply;
    NB_TRY_ASSIGN(reply.committed, was_committed(query, reply.generation));
    NB_TRY(m_connection.send(reply));
    return m_connection.flush();
  }

  // Waits for our own ghost, which may be in the middle of the commit that is asked about.
  Result<bool> was_committed(const wire::Query& query, std::uint64_t& generation) {
    // What does not say whether a file or a tree was pushed is taken for a file: that finds the set of either.
    auto path = resolve_target(query.destination, SourceShape::single_file, m_options.root);
    if (!path && path.error().code == Errc::not_found) return false;
    NB_TRY(path);
    NB_TRY_ASSIGN(txn::Located found, locate_target(*std::move(path), m_options.root));
    if (!found.is_set) return false;
    NB_TRY_ASSIGN(const auto set, txn::FileSet::open(std::move(found.root)));
    // What is in the head is done, whoever may be writing by now.
    if (is_recent(*set, query.transaction, generation)) {
      NB_TRY(set->control().sync());  // it may not be durable yet, and then it is as the answer says
      return true;
    }
    const txn::LockNote note = txn::lock_note_of_this_process("", query.transaction, m_clock);
    NB_TRY_ASSIGN(const auto lock, txn::WriterLock::acquire(*set, note, std::chrono::seconds(0), m_clock, may_go_on));
    NB_TRY(txn::recover(*set, *lock, m_clock, may_go_on));
    NB_TRY(set->reload());
    return is_recent(*set, query.transaction, generation);
  }

  static bool is_recent(const txn::FileSet& set, const wire::Id& transaction, std::uint64_t& generation) {
    generation = set.head().generation;
    const auto& recent = set.head().recent;
    return std::find(recent.begin(), recent.end(), transaction) != recent.end();
  }

  SinkRequest request_of(const wire::Open& open) {
    SinkRequest request;
    const bool single = (open.flags & wire::k_flag_single_file) != 0;
    request.destination = open.destination;
    request.shape = single ? SourceShape::single_file : SourceShape::tree;
    request.lifetime = single ? txn::Lifetime::ephemeral : txn::Lifetime::permanent;
    request.mode = mode_of(open.flags);
    if ((open.flags & wire::k_flag_new_set) == 0) request.expected_set = open.expected_set;
    request.offered_secret = open.secret;
    request.client = open.client;
    request.transaction = open.transaction;
    request.wait = std::chrono::seconds(open.wait_seconds);
    request.on_wait = [this](const std::string& text) {
      m_reporter.advise(text);
      static_cast<void>(m_connection.flush());
    };
    request.stay_within = m_options.root;
    request.must_keep_history = m_options.append_only;
    return request;
  }

  // Everything of Open is checked before anything is made. A client has parsed its user's rules itself, so one that is
  // wrong here is the client's fault.
  static Result<filter::Rules> checked_rules(const wire::Open& open) {
    auto rules = rules_of(open.filter_rules);
    if (!rules) return fail(Errc::protocol, "filter rule: " + rules.error().context);
    return rules;
  }

  // Nobody is to wait for the lock on behalf of a client that has gone.
  Result<SinkSetup> set_up(const wire::Open& open) {
    std::atomic<bool> has_gone{false};
    auto setup = [&] {
      const PeerWatch watch(m_connection, [&] {
        has_gone = true;
        if (m_options.on_client_gone) m_options.on_client_gone();
      });
      return set_up_sink(request_of(open), m_clock);
    }();
    if (!setup && setup.error().code != Errc::interrupted) return setup;
    if (has_gone) return fail(Errc::connection_lost, "the client ended the connection");
    return setup;
  }

  Status receive_push(const wire::Open& open) {
    if (m_options.read_only && mode_of(open.flags) == SinkMode::commit) {
      return fail(Errc::read_only, "this key may only read (serve --read-only)");
    }
    if (m_options.append_only && (open.flags & wire::k_flag_no_history) != 0) {
      return fail(Errc::read_only, "this key may only add (serve --append-only); push without --no-history");
    }
    NB_TRY_ASSIGN(const filter::Rules rules, checked_rules(open));
    if (!open.secret.empty()) NB_TRY(hash::Secret::from_bytes(open.secret, Errc::protocol));
    NB_TRY_ASSIGN(SinkSetup setup, set_up(open));
    wire::Opened opened;
    // One that goes with this run is nothing to be remembered by.
    if (setup.set && setup.set->format().lifetime == txn::Lifetime::permanent) {
      opened.set = setup.set->format().uuid;
      opened.generation = setup.set->head().generation;
    }
    const ByteView secret = setup.secret->stored();
    opened.secret.assign(secret.begin(), secret.end());
    opened.resumes = setup.transaction && setup.transaction->has_resume_data();
    NB_TRY(m_connection.send(opened));
    NB_TRY(m_connection.flush());
    SinkOptions options = sink_options(open.flags, m_peer, {rules, *setup.secret});
    options.direction = Direction::sent;
    options.max_delete = open.max_delete;
    options.always_limits_deletion = m_options.append_only;
    options.wait_readers = std::chrono::seconds(open.wait_readers_seconds);
    options.client = open.client;
    options.listing_credit_bytes = m_options.limits.listing_credit_bytes;
    Sink sink(m_connection, setup.target(), options, m_reporter, m_clock);
    const auto result = sink.run();
    if (!result) return tl::make_unexpected(result.error());
    // The client has its answer; emptying the trash is nobody's business but ours.
    if (setup.transaction) static_cast<void>(setup.transaction->clean_up());
    // Else who may only add could push good generations out of a policy's reach.
    if (m_options.append_only) return {};
    const bool unwanted = (open.flags & wire::k_flag_no_history) != 0;
    settle_history(
        setup, *result, unwanted ? RunHistory::not_wanted : RunHistory::kept,
        [this](const std::string& text) { m_reporter.notice(text); }, m_clock);
    return {};
  }

  Result<SourceSetup> set_up_pull(const wire::Open& open) {
    const SourceReader reader{open.client, m_options.root};
    if (open.at) return set_up_past_source(open.sources, *open.at, reader, m_clock);
    return set_up_source(open.sources, reader, m_clock);
  }

  Status send_pull(const wire::Open& open) {
    NB_TRY_ASSIGN(const filter::Rules rules, checked_rules(open));
    NB_TRY_ASSIGN(const hash::Secret secret, hash::Secret::from_bytes(open.secret, Errc::protocol));
    NB_TRY_ASSIGN(SourceSetup setup, set_up_pull(open));
    wire::Opened opened;
    opened.secret = open.secret;
    if (setup.tree.implied_root()) opened.flags |= wire::k_flag_implied_root;
    if (setup.tree.is_single_file()) opened.flags |= wire::k_flag_single_file;
    if (!setup.held.sets.empty()) {
      opened.set = setup.held.sets.front()->format().uuid;
      opened.generation = setup.generation;
    }
    NB_TRY(m_connection.send(opened));
    NB_TRY(m_connection.flush());
    Source source(m_connection, setup.tree, m_reporter,
                  source_options(setup, open.flags, m_options.limits, m_peer, {rules, secret}));
    return source.run();
  }

  const ServeOptions& m_options;
  Clock& m_clock;
  Connection m_connection;
  Reporter m_reporter;
  wire::Hello m_peer;
};

}  // namespace

Status serve(transport::ByteStream& stream, const ServeOptions& options, Observer& observer, Clock& clock) {
  return Server(stream, options, observer, clock).run();
}

}  // namespace nb::session
