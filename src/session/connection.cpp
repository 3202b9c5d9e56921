// SPDX-License-Identifier: Apache-2.0
#include "session/connection.hpp"

#include "base/failpoint.hpp"
#include "session/error_message.hpp"
#include "session/interrupt.hpp"

namespace nb::session {
namespace {

// How soon an interrupt is noticed by a thread that waits for the peer.
constexpr std::chrono::milliseconds k_tick{100};
constexpr std::chrono::milliseconds k_drain{5000};

// Whoever has said that is not gone, but has nothing more to say.
bool says_goodbye(wire::FrameReader frame) {
  while (true) {
    const auto message = frame.next();
    if (!message || !*message) return false;
    if ((*message)->type == wire::MessageType::goodbye) return true;
  }
}

}  // namespace

Connection::Connection(transport::ByteStream& stream, ConnectionOptions options)
    : m_stream(stream), m_options(options), m_sender(stream), m_receiver(stream, options.inactivity), m_ticker([this] {
        tick();
      }) {}

Connection::~Connection() {
  {
    const std::lock_guard lock(m_tick_mutex);
    m_stopping = true;
  }
  m_tick_wake.notify_all();
  m_ticker.join();
  // Both threads may be waiting for the peer.
  m_stream.close_now();
}

void Connection::tick() {
  std::unique_lock lock(m_tick_mutex);
  while (!m_tick_wake.wait_for(lock, k_tick, [this] { return m_stopping; })) {
    if (interrupt_requested() || (m_close_at && std::chrono::steady_clock::now() >= *m_close_at)) m_stream.close_now();
    if (m_keep_alive_ms > 0) send_keep_alive_if_idle();
  }
}

void Connection::close_after(std::chrono::milliseconds limit) {
  const std::lock_guard lock(m_tick_mutex);
  m_close_at = std::chrono::steady_clock::now() + limit;
}

// Whoever holds the mutex is sending, which keeps the line alive just as well, and so do frames that wait to be
// written. With none of them, handing over does not block.
void Connection::send_keep_alive_if_idle() {
  const std::unique_lock lock(m_send_mutex, std::try_to_lock);
  if (!lock) return;
  const auto idle_since = m_sender.idle_since();
  const std::chrono::milliseconds interval(m_keep_alive_ms);
  if (!idle_since || std::chrono::steady_clock::now() - *idle_since < interval) return;
  m_builder.add(wire::KeepAlive{});
  // A broken line shows itself to the receiving thread.
  static_cast<void>(hand_over());
}

Error Connection::translate(Error error) const {
  if (error.code == Errc::connection_lost && interrupt_requested()) return {Errc::interrupted, 0, ""};
  return error;
}

Status Connection::hand_over() {
  if (m_builder.empty()) return {};
  NB_FAILPOINT("session.send.frame");
  return m_sender.push(m_builder.take_unsealed()).map_error([this](Error error) {
    return translate(std::move(error));
  });
}

Status Connection::flush() {
  const std::lock_guard lock(m_send_mutex);
  return hand_over();
}

bool Connection::send_error(const Error& error) {
  if (error.code == Errc::connection_lost || error.code == Errc::timeout) return false;
  return send(to_message(error)) && flush() && m_sender.finish();
}

void Connection::watch_peer(std::function<void()> on_gone) {
  if (!on_gone || says_goodbye(m_frame)) return m_receiver.watch_end(nullptr);
  m_receiver.watch_end([on_gone = std::move(on_gone)](ByteView last) {
    if (!says_goodbye(wire::FrameReader(last))) on_gone();
  });
}

void Connection::drain() { m_receiver.drain(k_drain); }

void Connection::show(Bytes payload) {
  m_payload = std::move(payload);
  m_frame = wire::FrameReader(m_payload);
}

// A KeepAlive left in the frame would make drained() promise a message that receive() then waits for in vain.
void Connection::skip_keep_alives() {
  while (!m_frame.at_end()) {
    wire::FrameReader ahead = m_frame;
    const auto message = ahead.next();
    if (!message || !*message || (*message)->type != wire::MessageType::keep_alive) return;
    m_frame = ahead;
  }
}

bool Connection::drained() {
  while (true) {
    skip_keep_alives();
    if (!m_frame.at_end()) return false;
    auto payload = m_receiver.next_if_here();
    if (!payload) return true;
    show(std::move(*payload));
  }
}

Result<std::optional<wire::RawMessage>> Connection::receive() {
  while (true) {
    NB_TRY_ASSIGN(auto message, m_frame.next());
    if (message && message->type != wire::MessageType::keep_alive) return message;
    if (message) continue;
    auto payload = m_receiver.next();
    if (!payload) return tl::make_unexpected(translate(std::move(payload).error()));
    if (!*payload) return std::nullopt;
    show(std::move(**payload));
    NB_FAILPOINT("session.receive.frame");
  }
}

void Connection::count_traffic(Counts& counts) const {
  counts.sent_bytes = m_sender.wire_bytes();
  counts.received_bytes = m_receiver.wire_bytes();
  counts.sent_plain_bytes = m_sender.plain_bytes();
  counts.received_plain_bytes = m_receiver.plain_bytes();
}

}  // namespace nb::session
