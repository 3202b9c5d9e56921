// SPDX-License-Identifier: Apache-2.0
// Connection: messages over a ByteStream. Joins small messages into frames, keeps the line alive, and ends blocked
// calls when the process is interrupted. Used by both ends; one thread receives, any thread sends. A FrameSender behind
// it compresses and writes, a FrameReceiver in front of it reads, checks and decompresses, each in a thread of its own
// with a bounded queue: work on one frame goes on while others are under way.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "base/bytes.hpp"
#include "session/frame_receiver.hpp"
#include "session/frame_sender.hpp"
#include "session/job.hpp"
#include "transport/byte_stream.hpp"
#include "wire/frame.hpp"

namespace nb::session {

struct ConnectionOptions {
  std::chrono::milliseconds inactivity{0};  // a silence longer than this is Errc::timeout; zero: wait for ever
};

class Connection {
 public:
  // `stream` outlives the connection, but is good for nothing any more after it: the destructor closes it, and what was
  // sent and is not written out by then is lost. Who wants it delivered calls finish_sending() or waits for an answer.
  Connection(transport::ByteStream& stream, ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Puts a message into the frame being built; hands the frame over for writing once it is large enough. Waits while
  // too much is queued. The error may be that of an earlier frame; from then on every frame meets it.
  template <class Message>
  Status send(const Message& message) {
    const std::lock_guard lock(m_send_mutex);
    m_builder.add(message);
    return m_builder.payload_bytes() >= wire::k_frame_target_bytes ? hand_over() : Status{};
  }
  // Hands over what send() has collected: it goes out as soon as the line takes it, without a further call. Does not
  // wait for that, and says nothing of frames before it if there is nothing to hand over.
  Status flush();

  // Tells the peer why the session ends, once: to be called by who made the connection, or by Source, which alone needs
  // to receive after it; and half-closes; returns when that is written out. Connection errors are not
  // sent; false then, or if it cannot be.
  bool send_error(const Error& error);
  // Drops what comes until the peer closes, or for a few seconds: closing on a peer that still writes could cost it our
  // last words. Nothing can be received after it.
  void drain();
  // Half-close after everything sent so far is written out, which it waits for.
  void finish_sending() { static_cast<void>(m_sender.finish()); }
  // Ends everything now; blocked calls return. From any thread.
  void close_now() { m_stream.close_now(); }

  // The next message, waiting for it; nothing at the orderly end. Its body is valid until the next call of this or of
  // drained(). KeepAlive is swallowed. Errors: protocol, connection_lost, timeout, interrupted; what arrived before
  // one is received first. A timeout counts only time spent in here.
  Result<std::optional<wire::RawMessage>> receive();
  // No message has arrived that was not received: the next receive() will wait for the peer, so flush first. By the
  // receiving thread.
  [[nodiscard]] bool drained();

  // `on_gone` is called once, on another thread or at once, when the peer has ended or lost the connection without a
  // Goodbye; it must not call the connection. An empty function takes it back.
  void watch_peer(std::function<void()> on_gone);

  // From now on something is sent at least so often, KeepAlive if there is nothing else; not before the peer's hello
  // was seen.
  void start_keep_alive(std::chrono::milliseconds interval) { m_keep_alive_ms = interval.count(); }
  // Does close_now() when so much time has gone by.
  void close_after(std::chrono::milliseconds limit);
  [[nodiscard]] std::chrono::milliseconds inactivity() const { return m_options.inactivity; }
  // Frames from now on may be compressed. Only if the peer's hello allows it (compress() in handshake.hpp asks that).
  void compress(codec::Compression wish, codec::Windows windows) { m_sender.compress({wish, windows}); }

  [[nodiscard]] std::uint64_t sent_bytes() const { return m_sender.wire_bytes(); }
  [[nodiscard]] std::uint64_t received_bytes() const { return m_receiver.wire_bytes(); }
  // Fills in the four byte counts.
  void count_traffic(Counts& counts) const;

 private:
  Status hand_over();  // with m_send_mutex held
  void skip_keep_alives();
  void show(Bytes payload);
  Error translate(Error error) const;
  void tick();
  void send_keep_alive_if_idle();

  transport::ByteStream& m_stream;
  const ConnectionOptions m_options;

  std::mutex m_send_mutex;
  wire::FrameBuilder m_builder;
  FrameSender m_sender;

  FrameReceiver m_receiver;
  Bytes m_payload;  // that m_frame walks
  wire::FrameReader m_frame{ByteView{}};

  std::atomic<std::int64_t> m_keep_alive_ms{0};  // 0: none is sent
  std::mutex m_tick_mutex;
  std::condition_variable m_tick_wake;
  std::optional<std::chrono::steady_clock::time_point> m_close_at;
  bool m_stopping = false;
  std::thread m_ticker;
};

// While one lives, the peer is watched.
class PeerWatch {
 public:
  PeerWatch(Connection& connection, const std::function<void()>& on_gone) : m_connection(connection) {
    m_connection.watch_peer(on_gone);
  }
  ~PeerWatch() { m_connection.watch_peer({}); }
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

 private:
  Connection& m_connection;
};

}  // namespace nb::session
