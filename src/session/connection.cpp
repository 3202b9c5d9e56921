// SPDX-License-Identifier: Apache-2.0
#include "session/connection.hpp"

#include <algorithm>
#include <cstring>

#include "base/failpoint.hpp"
#include "base/text.hpp"
#include "session/error_message.hpp"
#include "session/interrupt.hpp"

namespace nb::session {
namespace {

constexpr std::size_t k_read_bytes = std::size_t{256} << 10;
// How soon an interrupt is noticed by a thread that waits for the peer.
constexpr std::chrono::milliseconds k_tick{100};
constexpr std::chrono::milliseconds k_drain{5000};

}  // namespace

Connection::Connection(transport::ByteStream& stream, ConnectionOptions options)
    : m_stream(stream), m_options(options), m_ticker([this] { tick(); }) {}

Connection::~Connection() {
  {
    const std::lock_guard lock(m_tick_mutex);
    m_stopping = true;
  }
  m_tick_wake.notify_all();
  m_ticker.join();
}

void Connection::tick() {
  std::unique_lock lock(m_tick_mutex);
  while (!m_tick_wake.wait_for(lock, k_tick, [this] { return m_stopping; })) {
    if (interrupt_requested()) m_stream.close_now();
    if (m_keep_alive_on && m_options.keep_alive.count() > 0) send_keep_alive_if_idle();
  }
}

// Whoever holds the mutex is sending, which keeps the line alive just as well.
void Connection::send_keep_alive_if_idle() {
  const std::unique_lock lock(m_send_mutex, std::try_to_lock);
  if (!lock || std::chrono::steady_clock::now() - m_last_sent < m_options.keep_alive) return;
  m_builder.add(wire::KeepAlive{});
  // A broken line shows itself to the receiving thread.
  static_cast<void>(write_frame());
}

Error Connection::translate(Error error) const {
  if (error.code == Errc::connection_lost && interrupt_requested()) return {Errc::interrupted, 0, ""};
  return error;
}

Status Connection::write_frame() {
  if (m_builder.empty()) return {};
  NB_FAILPOINT("session.send.frame");
  const Bytes frame = m_builder.take();
  m_sent_bytes += frame.size();
  m_last_sent = std::chrono::steady_clock::now();
  return m_stream.write(frame).map_error([this](Error error) { return translate(std::move(error)); });
}

Status Connection::flush() {
  const std::lock_guard lock(m_send_mutex);
  return write_frame();
}

bool Connection::send_error(const Error& error) {
  if (error.code == Errc::connection_lost || error.code == Errc::timeout) return false;
  return send(to_message(error)) && flush() && m_stream.finish_writing();
}

void Connection::drain() {
  const auto until = std::chrono::steady_clock::now() + k_drain;
  Bytes scrap(k_read_bytes);
  while (std::chrono::steady_clock::now() < until) {
    const auto got = m_stream.read(scrap, k_drain);
    if (!got || *got == 0) return;
  }
}

// Makes sure that `bytes` lie in the buffer from m_begin on, or sets m_at_end.
Status Connection::need(std::size_t bytes) {
  while (m_end - m_begin < bytes) {
    if (m_begin > 0) {
      std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end - m_begin);
      m_end -= m_begin;
      m_begin = 0;
    }
    if (m_buffer.size() < std::max(bytes, k_read_bytes)) m_buffer.resize(std::max(bytes, k_read_bytes));
    const auto got = m_stream.read(std::span(m_buffer).subspan(m_end), m_options.inactivity);
    if (!got) return tl::make_unexpected(translate(got.error()));
    if (*got == 0) {
      m_at_end = true;
      return {};
    }
    m_end += *got;
    m_received_bytes += *got;
  }
  return {};
}

// Reads one whole frame; false at an orderly end between frames.
Result<bool> Connection::next_frame() {
  NB_TRY(need(wire::k_frame_header_bytes));
  if (m_at_end && m_begin == m_end) return false;
  const ByteView received = ByteView(m_buffer).subspan(m_begin, m_end - m_begin);
  if (m_at_end) return fail(Errc::connection_lost, "connection cut after '" + escape(as_text(received)) + "'");
  NB_TRY_ASSIGN(const wire::FrameHeader header, wire::decode_frame_header(received.first(wire::k_frame_header_bytes)));
  NB_TRY(need(wire::k_frame_header_bytes + header.payload_bytes));
  if (m_at_end) return fail(Errc::connection_lost, "connection cut in the middle of a frame");
  const ByteView head = ByteView(m_buffer).subspan(m_begin, wire::k_frame_header_bytes);
  const ByteView payload = ByteView(m_buffer).subspan(m_begin + head.size(), header.payload_bytes);
  NB_TRY(wire::check_frame(head, payload));
  m_begin += head.size() + payload.size();
  m_frame = wire::FrameReader(payload);
  return true;
}

Result<std::optional<wire::RawMessage>> Connection::receive() {
  while (true) {
    NB_TRY_ASSIGN(auto message, m_frame.next());
    if (message && message->type != wire::MessageType::keep_alive) return message;
    if (message) continue;
    NB_TRY_ASSIGN(const bool more, next_frame());
    if (!more) return std::nullopt;
    NB_FAILPOINT("session.receive.frame");
  }
}

}  // namespace nb::session
