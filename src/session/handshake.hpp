// SPDX-License-Identifier: Apache-2.0
// The first messages of a session and its last one, and reading one message of an expected type.
#pragma once

#include "session/connection.hpp"
#include "session/error_message.hpp"
#include "session/job.hpp"
#include "session/reporter.hpp"

namespace nb::session {

// Sends our hello, reads the peer's and checks the versions. The agreed version is the highest both know. The client
// speaks first and the server answers: if both began by writing, two small buffers would hold them up for ever.
Result<wire::Hello> exchange_hello(Connection& connection, const Limits& limits, Side side);

// Frames that we send from now on are compressed as `wish` says, as far as `peer` understands it.
void compress(Connection& connection, const wire::Hello& peer, const codec::Compression& wish);

// Client: the last message. The other side finishes what it has to clean up before it closes; waiting for that, for a
// minute at most, leaves nothing behind us.
void say_goodbye(Connection& connection);

// The next message; an ErrorMessage becomes its error, another type Errc::protocol, the end Errc::connection_lost.
Result<wire::RawMessage> receive_one_of(Connection& connection, std::initializer_list<wire::MessageType> types);

template <class Message>
Result<Message> receive(Connection& connection) {
  NB_TRY_ASSIGN(const wire::RawMessage raw, receive_one_of(connection, {Message::k_type}));
  return wire::decode_message<Message>(raw.body);
}

}  // namespace nb::session
