// SPDX-License-Identifier: Apache-2.0
// RawPeer: speaks the protocol by hand to a real `serve` session, so that a test can say what no honest peer would.
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <thread>

#include "session/handshake.hpp"
#include "session/serve.hpp"
#include "unit/session/rig.hpp"

namespace nb::test {

class RawPeer {
 public:
  explicit RawPeer(const session::ServeOptions& options) : m_options(options) {
    auto [near, far] = make_pipe();
    m_stream = std::move(near);
    m_server = std::thread([this, stream = std::move(far)]() mutable {
      Recorder silent;
      SystemClock clock;
      m_served = session::serve(*stream, m_options, silent, clock);
      stream->close_now();
    });
    m_connection.emplace(*m_stream, session::ConnectionOptions{std::chrono::seconds(20)});
    REQUIRE(session::exchange_hello(*m_connection, {}, session::Side::client).has_value());
  }
  ~RawPeer() {
    m_stream->close_now();
    if (m_server.joinable()) m_server.join();
  }

  template <class Message>
  void send(const Message& message) {
    // The server may already have hung up; what it said is what counts.
    static_cast<void>(m_connection->send(message));
    static_cast<void>(m_connection->flush());
  }

  template <class Message>
  Message receive() {
    while (true) {
      const auto raw = m_connection->receive();
      REQUIRE(raw.has_value());
      REQUIRE(raw->has_value());
      if ((*raw)->type == wire::MessageType::phase) continue;
      REQUIRE((*raw)->type == Message::k_type);
      return wire::decode_message<Message>((*raw)->body).value();
    }
  }

  // Reads until the server reports an error.
  Error error() {
    while (true) {
      const auto message = m_connection->receive();
      if (!message) return message.error();
      if (!*message) return {Errc::internal, 0, "the session ended without an error"};
      if ((*message)->type != wire::MessageType::error) continue;
      return session::from_message(wire::decode_message<wire::ErrorMessage>((*message)->body).value());
    }
  }

  // Whether the server says nothing more and hangs up. What was sent after its end may have been read by its thread for
  // receiving or not: the stream then ends, or is reset.
  bool hears_no_more() {
    const auto message = m_connection->receive();
    return message ? !message->has_value() : message.error().code == Errc::connection_lost;
  }

  transport::ByteStream& stream() { return *m_stream; }
  // Half-closes once everything sent has been written.
  void finish() { m_connection->finish_sending(); }

 private:
  session::ServeOptions m_options;
  std::unique_ptr<transport::ByteStream> m_stream;
  std::optional<session::Connection> m_connection;
  std::thread m_server;
  Status m_served;
};

inline RelPath path_of(const std::string& text) { return RelPath::parse(text).value(); }

}  // namespace nb::test
