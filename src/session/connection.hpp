// SPDX-License-Identifier: Apache-2.0
// Connection: messages over a ByteStream. Joins small messages into frames, checks the frames that come in, keeps the
// line alive, and ends blocked calls when the process is interrupted. Used by both ends; one thread receives, any
// thread sends.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/bytes.hpp"
#include "transport/byte_stream.hpp"
#include "wire/frame.hpp"

namespace nb::session {

struct ConnectionOptions {
  std::chrono::milliseconds inactivity{0};         // a silence longer than this is Errc::timeout; zero: wait for ever
  std::chrono::milliseconds keep_alive{10'000};    // something is sent at least this often; zero: never by itself
};

class Connection {
 public:
  // `stream` outlives the connection.
  Connection(transport::ByteStream& stream, ConnectionOptions options);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Puts a message into the frame being built; writes the frame out once it is large enough. May block.
  template <class Message>
  Status send(const Message& message) {
    const std::lock_guard lock(m_send_mutex);
    m_builder.add(message);
    return m_builder.payload_bytes() >= wire::k_frame_target_bytes ? write_frame() : Status{};
  }
  // Writes out what send() has collected.
  Status flush();

  // Tells the peer why the session ends and half-closes. Connection errors are not sent; false then, or if it cannot
  // be.
  bool send_error(const Error& error);
  // Reads and drops until the peer closes, or for a few seconds: closing on a peer that still writes could cost it our
  // last words.
  void drain();
  // Half-close after everything sent so far.
  void finish_sending() { static_cast<void>(m_stream.finish_writing()); }
  // Ends everything now; blocked calls return. From any thread.
  void close_now() { m_stream.close_now(); }

  // The next message, waiting for it; nothing at the orderly end. Its body is valid until the next call.
  // KeepAlive is swallowed. Errors: protocol, connection_lost, timeout, interrupted.
  Result<std::optional<wire::RawMessage>> receive();
  // No message of the frames read so far is left: the next receive() will wait for the peer, so flush first.
  [[nodiscard]] bool drained() const { return m_frame.at_end(); }

  // Starts sending KeepAlive when nothing else was sent for the agreed time; not before the peer's hello was seen.
  void start_keep_alive() { m_keep_alive_on = true; }
  [[nodiscard]] std::uint64_t sent_bytes() const { return m_sent_bytes; }
  [[nodiscard]] std::uint64_t received_bytes() const { return m_received_bytes; }

 private:
  Status write_frame();  // with m_send_mutex held
  Status need(std::size_t bytes);
  Result<bool> next_frame();
  Error translate(Error error) const;
  void tick();
  void send_keep_alive_if_idle();

  transport::ByteStream& m_stream;
  const ConnectionOptions m_options;

  std::mutex m_send_mutex;
  wire::FrameBuilder m_builder;
  std::chrono::steady_clock::time_point m_last_sent = std::chrono::steady_clock::now();
  std::atomic<std::uint64_t> m_sent_bytes{0};

  Bytes m_buffer;          // received and not yet consumed: [m_begin, m_end)
  std::size_t m_begin = 0;
  std::size_t m_end = 0;
  bool m_at_end = false;
  wire::FrameReader m_frame{ByteView{}};
  std::atomic<std::uint64_t> m_received_bytes{0};

  std::atomic<bool> m_keep_alive_on{false};
  std::mutex m_tick_mutex;
  std::condition_variable m_tick_wake;
  bool m_stopping = false;
  std::thread m_ticker;
};

}  // namespace nb::session
