// SPDX-License-Identifier: Apache-2.0
// FrameReceiver: the thread in front of a Connection that reads frames, checks and decompresses them, so that the next
// are on their way while one is worked on. What it has read ahead is bounded in bytes; it never waits for anything but
// the stream and the taker of its frames, least of all for our own sending.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/bytes.hpp"
#include "codec/frame_decompressor.hpp"
#include "transport/byte_stream.hpp"
#include "wire/frame.hpp"

namespace nb::session {

class FrameReceiver {
 public:
  // `stream` outlives the receiver. `inactivity`: a silence longer than this, of which next() has waited as long, is
  // Errc::timeout; zero: wait for ever.
  FrameReceiver(transport::ByteStream& stream, std::chrono::milliseconds inactivity);
  // Closes the stream.
  ~FrameReceiver();
  FrameReceiver(const FrameReceiver&) = delete;
  FrameReceiver& operator=(const FrameReceiver&) = delete;

  // The payload of the next frame; nothing at the orderly end. What was read before an error comes first, then the
  // error, again and again. Errors: protocol, connection_lost, timeout.
  Result<std::optional<Bytes>> next();
  // The same without waiting; nothing where next() would wait, end or fail.
  std::optional<Bytes> next_if_here();
  // Drops what comes from now on, until the line ends or `limit` is over. next() is of no use after it.
  void drain(std::chrono::milliseconds limit);

  // `on_end` is called once, on the receiver's thread or at once in here, when nothing more will come, whatever the
  // reason: with the last payload that nobody has taken, empty if there is none. It must not call this object. An empty
  // function takes it back: it is not called after that.
  using OnEnd = std::function<void(ByteView last_untaken)>;
  void watch_end(OnEnd on_end);

  // Bytes taken from the stream, and what the frames among them would have been uncompressed.
  [[nodiscard]] std::uint64_t wire_bytes() const { return m_wire_bytes; }
  [[nodiscard]] std::uint64_t plain_bytes() const { return m_plain_bytes; }

 private:
  using TimePoint = std::chrono::steady_clock::time_point;

  void run();
  Result<std::optional<Bytes>> read_frame();
  Result<Bytes> payload_of(const wire::FrameHeader& header, ByteView sent);
  Status need(std::size_t bytes);
  Result<std::size_t> read_some();
  std::optional<std::chrono::milliseconds> patience_left();
  bool queue(Bytes payload);
  void drop_rest();
  Bytes take_front();  // with m_mutex held
  void tell_end();     // likewise

  transport::ByteStream& m_stream;
  const std::chrono::milliseconds m_inactivity;

  std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<Bytes> m_queue;
  std::size_t m_queued_bytes = 0;
  std::optional<Status> m_end;             // no further frame will come: why
  std::optional<TimePoint> m_taker_since;  // next() has been waiting for so long
  OnEnd m_on_end;
  bool m_dropping = false;
  bool m_line_ended = false;
  bool m_stopping = false;

  // Of the thread alone.
  Bytes m_buffer;  // received and not yet consumed: [m_begin, m_end_of_data)
  std::size_t m_begin = 0;
  std::size_t m_end_of_data = 0;
  bool m_at_end = false;
  codec::FrameDecompressor m_decompressor{codec::affordable_windows()};  // as our hello says

  std::atomic<std::uint64_t> m_wire_bytes{0};
  std::atomic<std::uint64_t> m_plain_bytes{0};
  std::thread m_thread;  // last: it uses all of the above
};

}  // namespace nb::session
