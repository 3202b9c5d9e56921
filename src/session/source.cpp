// SPDX-License-Identifier: Apache-2.0
#include "session/source.hpp"

#include "session/error_message.hpp"
#include "session/interrupt.hpp"

namespace nb::session {
namespace {

constexpr std::chrono::milliseconds k_progress_interval{100};
constexpr std::chrono::seconds k_farewell{5};

SenderOptions sender_options(const SourceOptions& options, const delta::BlockSigner& signer) {
  return {options.limits.inline_limit_bytes,
          options.lister.view,
          options.lister.secret,
          options.lister.digests,
          options.signatures,
          &signer,
          options.damage,
          options.lister.go_on};
}

SourceOptions stopped_by(GoOn go_on, SourceOptions options) {
  options.lister.go_on = std::move(go_on);
  return options;
}

}  // namespace

Source::Source(Connection& connection, SourceTree& tree, Reporter& reporter, SourceOptions options)
    : m_connection(connection),
      m_tree(tree),
      m_reporter(reporter),
      m_options(stopped_by([this] { return goes_on(); }, std::move(options))),
      m_lister(m_options.lister),
      m_signer(*m_options.lister.secret),
      m_sender(connection, tree, reporter, sender_options(m_options, m_signer), [this] { report_progress(); }),
      m_plan(*m_options.lister.secret) {}

Source::~Source() {
  if (!m_receiver.joinable()) return;
  // Something was thrown, and the sink is waiting for us.
  m_connection.close_now();
  m_receiver.join();
}

// While contents are read nothing else would notice that the sink has gone.
bool Source::goes_on() {
  if (!may_go_on()) return false;
  const std::lock_guard lock(m_mutex);
  return !m_end || m_end->has_value();
}

Status Source::run() {
  for (const Error& error : m_tree.problems()) m_reporter.problem(error);
  m_outcome.mounts = m_tree.mounted_sources();
  m_walk.push_back(m_tree.root());
  m_reporter.phase(wire::PhaseKind::compare);
  m_receiver = std::thread([this] { receive_all(); });
  Status status = while_memory_lasts([this] { return do_all(); });
  m_outcome.counts.content_bytes = m_sender.content_bytes();
  return shut_down(std::move(status));
}

Status Source::do_all() {
  Status status;
  while (status) {
    const auto work = next_work();
    status = work ? Status{} : tl::make_unexpected(work.error());
    if (!work || *work == Work::finished) break;
    status = interrupt_requested() ? fail(Errc::interrupted, "") : do_work(*work);
    report_progress();
  }
  return status;
}

// Ends the receiving thread. After an error of ours the sink is told, and given a moment to take notice: closing at
// once could drop what was just sent. When the line broke, what the sink said before may still be on its way: that is
// why.
Status Source::shut_down(Status status) {
  if (status) {
    m_receiver.join();
    return status;
  }
  const bool gave_up = status.error().code == Errc::interrupted && may_go_on();  // goes_on() said so
  const bool broke = gave_up || status.error().code == Errc::connection_lost;
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
bool Source::may_scan() const { return !m_walk.empty() && m_pending_bytes < m_options.limits.listing_credit_bytes; }

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

}  // namespace nb::session
