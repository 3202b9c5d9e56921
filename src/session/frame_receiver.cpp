// SPDX-License-Identifier: Apache-2.0
#include "session/frame_receiver.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.hpp"

namespace nb::session {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t k_read_bytes = std::size_t{256} << 10;
// What is read ahead; a single frame may be larger.
constexpr std::size_t k_queue_bytes = std::size_t{2} << 20;
constexpr std::chrono::milliseconds k_drop_silence{5000};

// What a frame takes in the queue, with what the heap and the queue need for one.
std::size_t queued_size(const Bytes& payload) { return payload.size() + 64; }

}  // namespace

FrameReceiver::FrameReceiver(transport::ByteStream& stream, std::chrono::milliseconds inactivity)
    : m_stream(stream), m_inactivity(inactivity), m_thread([this] { run(); }) {}

FrameReceiver::~FrameReceiver() {
  m_stream.close_now();  // the thread may be waiting for the peer
  {
    const std::lock_guard lock(m_mutex);
    m_stopping = true;
    m_changed.notify_all();
  }
  m_thread.join();
}

// --- The taker ----------------------------------------------------------------------------------------------------

Bytes FrameReceiver::take_front() {
  Bytes payload = std::move(m_queue.front());
  m_queue.pop_front();
  m_queued_bytes -= queued_size(payload);
  m_changed.notify_all();
  return payload;
}

Result<std::optional<Bytes>> FrameReceiver::next() {
  std::unique_lock lock(m_mutex);
  m_taker_since = SteadyClock::now();
  m_changed.wait(lock, [this] { return !m_queue.empty() || m_end; });
  m_taker_since.reset();
  if (!m_queue.empty()) return take_front();
  if (!*m_end) return tl::make_unexpected(m_end->error());
  return std::nullopt;
}

std::optional<Bytes> FrameReceiver::next_if_here() {
  const std::lock_guard lock(m_mutex);
  if (m_queue.empty()) return std::nullopt;
  return take_front();
}

void FrameReceiver::watch_end(OnEnd on_end) {
  const std::lock_guard lock(m_mutex);
  m_on_end = std::move(on_end);
  if (m_end) tell_end();
}

void FrameReceiver::tell_end() {
  const OnEnd told = std::exchange(m_on_end, nullptr);
  if (told) told(m_queue.empty() ? ByteView() : ByteView(m_queue.back()));
}

void FrameReceiver::drain(std::chrono::milliseconds limit) {
  std::unique_lock lock(m_mutex);
  m_dropping = true;
  m_changed.notify_all();
  m_changed.wait_for(lock, limit, [this] { return m_line_ended; });
}

// --- The thread ---------------------------------------------------------------------------------------------------

void FrameReceiver::run() {
  while (true) {
    auto payload = read_frame();
    if (payload && *payload) {
      if (queue(std::move(**payload))) continue;
    } else {
      const std::lock_guard lock(m_mutex);
      m_end = payload ? Status{} : tl::make_unexpected(payload.error());
      tell_end();
      m_changed.notify_all();
    }
    return drop_rest();
  }
}

// False when nobody wants the payload any more.
bool FrameReceiver::queue(Bytes payload) {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [&] {
    return m_stopping || m_dropping || m_queue.empty() || m_queued_bytes + queued_size(payload) <= k_queue_bytes;
  });
  if (m_stopping || m_dropping) return false;
  m_queued_bytes += queued_size(payload);
  m_queue.push_back(std::move(payload));
  m_changed.notify_all();
  return true;
}

// After the last frame: keeps reading if drain() asks for it, so that the peer is not held up.
void FrameReceiver::drop_rest() {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [this] { return m_stopping || m_dropping; });
  while (!m_stopping && !m_line_ended) {
    lock.unlock();
    const auto got = m_stream.read(m_buffer, k_drop_silence);
    lock.lock();
    m_line_ended = !got || *got == 0;
  }
  m_changed.notify_all();
}

// How much longer the stream may stay silent; nothing when the limit is reached. Silence counts only while somebody
// waits for what the peer says: a slow disk of ours is no dead line.
std::optional<std::chrono::milliseconds> FrameReceiver::patience_left() {
  const std::lock_guard lock(m_mutex);
  if (!m_taker_since) return m_inactivity;
  const auto waited = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - *m_taker_since);
  if (waited >= m_inactivity) return std::nullopt;
  return m_inactivity - waited;
}

Result<std::size_t> FrameReceiver::read_some() {
  std::chrono::milliseconds patience = m_inactivity;
  while (true) {
    auto got = m_stream.read(std::span(m_buffer).subspan(m_end_of_data), patience);
    if (!got && got.error().code == Errc::timeout) {
      const auto left = patience_left();
      if (!left) return got;
      patience = *left;
      continue;
    }
    const std::lock_guard lock(m_mutex);
    m_line_ended = !got || *got == 0;
    return got;
  }
}

// Makes sure that `bytes` lie in the buffer from m_begin on, or sets m_at_end.
Status FrameReceiver::need(std::size_t bytes) {
  while (m_end_of_data - m_begin < bytes) {
    if (m_begin > 0) {
      std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end_of_data - m_begin);
      m_end_of_data -= m_begin;
      m_begin = 0;
    }
    if (m_buffer.size() < bytes + k_read_bytes) m_buffer.resize(bytes + k_read_bytes);
    NB_TRY_ASSIGN(const std::size_t got, read_some());
    if (got == 0) {
      m_at_end = true;
      return {};
    }
    m_end_of_data += got;
    m_wire_bytes += got;
  }
  return {};
}

// Reads one whole frame; nothing at an orderly end between frames.
Result<std::optional<Bytes>> FrameReceiver::read_frame() {
  NB_TRY(need(wire::k_frame_header_bytes));
  if (m_at_end && m_begin == m_end_of_data) return std::nullopt;
  const ByteView received = ByteView(m_buffer).subspan(m_begin, m_end_of_data - m_begin);
  if (m_at_end) return fail(Errc::connection_lost, "connection cut after '" + std::string(as_text(received)) + "'");
  NB_TRY_ASSIGN(const wire::FrameHeader header, wire::decode_frame_header(received.first(wire::k_frame_header_bytes)));
  NB_TRY(need(wire::k_frame_header_bytes + header.payload_bytes));
  if (m_at_end) return fail(Errc::connection_lost, "connection cut in the middle of a frame");
  const ByteView head = ByteView(m_buffer).subspan(m_begin, wire::k_frame_header_bytes);
  const ByteView sent = ByteView(m_buffer).subspan(m_begin + head.size(), header.payload_bytes);
  NB_TRY(wire::check_frame(head, sent));
  NB_TRY_ASSIGN(Bytes payload, payload_of(header, sent));
  m_begin += head.size() + sent.size();
  m_plain_bytes += head.size() + payload.size();
  return payload;
}

Result<Bytes> FrameReceiver::payload_of(const wire::FrameHeader& header, ByteView sent) {
  if (header.encoding == wire::FrameEncoding::raw) return Bytes(sent.begin(), sent.end());
  return m_decompressor.decompress(sent, wire::k_max_frame_bytes);
}

}  // namespace nb::session
