// SPDX-License-Identifier: Apache-2.0
// FrameSender: the thread behind a Connection that compresses, seals and writes frames, so that whoever made them can
// go on with the next. What waits for it is bounded in bytes. It knows nothing of messages.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "base/bytes.hpp"
#include "codec/frame_compressor.hpp"
#include "codec/level_control.hpp"
#include "codec/trial.hpp"
#include "transport/byte_stream.hpp"

namespace nb::session {

class FrameSender {
 public:
  // `stream` outlives the sender.
  explicit FrameSender(transport::ByteStream& stream);
  // Drops what was not written. A write under way must have been ended: close the stream first.
  ~FrameSender();
  FrameSender(const FrameSender&) = delete;
  FrameSender& operator=(const FrameSender&) = delete;

  // Takes an unsealed frame (wire::FrameBuilder::take_unsealed). Waits while the queue is full, and for nothing else.
  // The error is that of an earlier write: it stays, and what was queued behind it is dropped.
  Status push(Bytes frame);
  // Waits until all frames are written, then half-closes. Nothing can be pushed after it; a second call does nothing.
  Status finish();
  // Frames pushed from now on may be compressed; not before the peer is known to understand it.
  struct Compress {
    codec::Compression wish;
    codec::Windows windows = codec::Windows::ordinary;
  };
  void compress(Compress how);

  // Since when nothing was left to write; nothing while there is something.
  [[nodiscard]] std::optional<std::chrono::steady_clock::time_point> idle_since() const;
  // Bytes given to the stream, and what they would have been uncompressed.
  [[nodiscard]] std::uint64_t wire_bytes() const { return m_wire_bytes; }
  [[nodiscard]] std::uint64_t plain_bytes() const { return m_plain_bytes; }

 private:
  struct Queued {
    Bytes frame;
    std::optional<Compress> switch_to;  // from this frame on
  };
  void run();
  std::optional<Queued> next();
  Status write(Queued queued);
  Status encode(Bytes& frame, codec::FrameCost& cost);
  void settle(Status status);

  transport::ByteStream& m_stream;

  mutable std::mutex m_mutex;
  std::condition_variable m_changed;
  std::deque<Queued> m_queue;
  std::size_t m_queued_bytes = 0;
  bool m_writing = false;
  std::optional<Compress> m_switch_to;
  std::optional<Error> m_error;
  bool m_finishing = false;  // half-close once the queue is empty
  bool m_finished = false;
  bool m_stopping = false;
  std::chrono::steady_clock::time_point m_idle_since = std::chrono::steady_clock::now();

  // Of the thread alone.
  codec::FrameCompressor m_compressor;
  codec::Trial m_trial;
  std::optional<codec::LevelControl> m_control;

  std::atomic<std::uint64_t> m_wire_bytes{0};
  std::atomic<std::uint64_t> m_plain_bytes{0};
  std::thread m_thread;  // last: it uses all of the above
};

}  // namespace nb::session
