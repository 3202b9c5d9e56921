// SPDX-License-Identifier: Apache-2.0
// Source, part four: the receiving thread. It takes what the sink says, and never waits for anything the peer must drain.
#include "session/error_message.hpp"
#include "session/source.hpp"

namespace nb::session {

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

Status Source::take_reply(const wire::DirectoryReply& reply) {
  const std::lock_guard lock(m_mutex);
  if (reply.id != m_next_reply++ || !m_pending.contains(reply.id)) return fail(Errc::protocol, "reply out of order");
  m_replies.push_back(reply);
  m_wake.notify_all();
  return {};
}

Status Source::take_done(const wire::DirectoryDone& done) {
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

Status Source::take_result(const wire::RunResult& result) {
  if (!m_scan_ended) return fail(Errc::protocol, "result: before the end of the scan");
  m_outcome.result = result;
  stop_with({});
  return {};
}

template <class Message>
Status Source::decode(const wire::RawMessage& message, Status (Source::*work)(const Message&)) {
  NB_TRY_ASSIGN(const Message body, wire::decode_message<Message>(message.body));
  return (this->*work)(body);
}

template <class Message>
Status Source::take_report(const Message& message) {
  m_reporter.received(message);
  return {};
}

Status Source::take(const wire::RawMessage& message) {
  using enum wire::MessageType;
  switch (message.type) {
    case directory_reply: return decode(message, &Source::take_reply);
    case want: return decode(message, &Source::take_want);
    case signature: return decode(message, &Source::take_signature);
    case basis_done: return decode(message, &Source::take_basis_done);
    case directory_done: return decode(message, &Source::take_done);
    case problem: return decode(message, &Source::take_report<wire::Problem>);
    case item: return decode(message, &Source::take_report<wire::Item>);
    case notice: return decode(message, &Source::take_report<wire::Notice>);
    case phase: return decode(message, &Source::take_report<wire::Phase>);
    case result: return decode(message, &Source::take_result);
    case error: {
      NB_TRY_ASSIGN(const auto error, wire::decode_message<wire::ErrorMessage>(message.body));
      return tl::make_unexpected(from_message(error));
    }
    default: return fail(Errc::protocol, "message not allowed from a sink");
  }
}

}  // namespace nb::session
