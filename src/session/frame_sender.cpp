// SPDX-License-Identifier: Apache-2.0
#include "session/frame_sender.hpp"

#include "wire/frame.hpp"

namespace nb::session {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Enough for the maker of frames to go on during a long write; a single frame may be larger.
constexpr std::size_t k_queue_bytes = std::size_t{1} << 20;
// A smaller payload saves nothing.
constexpr std::size_t k_least_compressed_bytes = 64;

}  // namespace

FrameSender::FrameSender(transport::ByteStream& stream) : m_stream(stream), m_thread([this] { run(); }) {}

FrameSender::~FrameSender() {
  {
    const std::lock_guard lock(m_mutex);
    m_stopping = true;
    m_changed.notify_all();
  }
  m_thread.join();
}

Status FrameSender::push(Bytes frame) {
  std::unique_lock lock(m_mutex);
  m_changed.wait(lock, [&] { return m_error || m_queue.empty() || m_queued_bytes + frame.size() <= k_queue_bytes; });
  if (m_error) return tl::make_unexpected(*m_error);
  if (m_finishing) return fail(Errc::internal, "frame after the end of sending");
  m_queued_bytes += frame.size();
  m_queue.push_back({std::move(frame), std::exchange(m_switch_to, std::nullopt)});
  m_changed.notify_all();
  return {};
}

Status FrameSender::finish() {
  std::unique_lock lock(m_mutex);
  m_finishing = true;
  m_changed.notify_all();
  m_changed.wait(lock, [this] { return m_error || m_finished; });
  return m_error ? Status(tl::make_unexpected(*m_error)) : Status{};
}

void FrameSender::compress(Compress how) {
  const std::lock_guard lock(m_mutex);
  m_switch_to = how;
}

std::optional<SteadyClock::time_point> FrameSender::idle_since() const {
  const std::lock_guard lock(m_mutex);
  if (m_writing || !m_queue.empty()) return std::nullopt;
  return m_idle_since;
}

void FrameSender::run() {
  while (auto queued = next()) settle(write(std::move(*queued)));
}

// The next frame to write; nothing when the thread is to end. Half-closes on the way.
std::optional<FrameSender::Queued> FrameSender::next() {
  std::unique_lock lock(m_mutex);
  while (true) {
    m_changed.wait(lock, [this] { return m_stopping || !m_queue.empty() || (m_finishing && !m_finished && !m_error); });
    if (m_stopping) return std::nullopt;
    if (!m_queue.empty()) break;
    lock.unlock();
    const Status finished = m_stream.finish_writing();
    lock.lock();
    m_finished = true;
    if (!finished) m_error = finished.error();
    m_changed.notify_all();
  }
  Queued queued = std::move(m_queue.front());
  m_queue.pop_front();
  m_queued_bytes -= queued.frame.size();
  m_writing = true;
  m_changed.notify_all();
  return queued;
}

void FrameSender::settle(Status status) {
  const std::lock_guard lock(m_mutex);
  m_writing = false;
  m_idle_since = SteadyClock::now();
  if (!status) {
    m_error = std::move(status).error();
    m_queue.clear();
    m_queued_bytes = 0;
  }
  m_changed.notify_all();
}

Status FrameSender::write(Queued queued) {
  if (queued.switch_to) {
    m_control.emplace(queued.switch_to->wish);
    m_compressor.use(queued.switch_to->windows);
  }
  Bytes& frame = queued.frame;
  m_plain_bytes += frame.size();
  codec::FrameCost cost;
  cost.payload_bytes = frame.size() - wire::k_frame_header_bytes;
  const auto began = SteadyClock::now();
  NB_TRY(encode(frame, cost));
  const auto encoded = SteadyClock::now();
  cost.compressing = cost.compressed ? encoded - began : std::chrono::nanoseconds(0);
  cost.idle = began - m_idle_since;  // only this thread changes it
  cost.wire_bytes = frame.size();
  m_wire_bytes += frame.size();
  NB_TRY(m_stream.write(frame));
  cost.writing = SteadyClock::now() - encoded;
  if (m_control) m_control->add(cost);
  return {};
}

// Compresses the payload where that is worth it, and seals the frame.
Status FrameSender::encode(Bytes& frame, codec::FrameCost& cost) {
  const ByteView payload = ByteView(frame).subspan(wire::k_frame_header_bytes);
  const std::optional<int> level = m_control ? m_control->level() : std::nullopt;
  cost.compressed = level && payload.size() >= k_least_compressed_bytes && m_trial.worth_trying(payload);
  if (cost.compressed) {
    Bytes compressed(wire::k_frame_header_bytes);
    compressed.reserve(frame.size());
    NB_TRY(m_compressor.compress(payload, *level, compressed));
    m_trial.tried(payload.size(), compressed.size() - wire::k_frame_header_bytes);
    frame = std::move(compressed);
  }
  wire::seal_frame(frame, cost.compressed ? wire::FrameEncoding::zstd : wire::FrameEncoding::raw);
  return {};
}

}  // namespace nb::session
