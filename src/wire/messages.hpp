// SPDX-License-Identifier: Apache-2.0
// Every message of the protocol as a plain value with its encoding. docs/protocol.md says who sends what when; the
// golden files in tests/golden fix the bytes. Decoding checks all limits and every name: what comes out is safe to use.
#pragma once

#include "wire/messages_command.hpp"
#include "wire/messages_content.hpp"
#include "wire/messages_listing.hpp"
#include "wire/messages_report.hpp"
#include "wire/messages_session.hpp"

namespace nb::wire {

// encode_message appends the body; texts meant for people are cut at their limit. decode_message checks that the body
// is used up; views in its result point into `body`. Both are instantiated for every type above (messages_*.cpp).
template <class Message>
void encode_message(ByteWriter& out, const Message& message);
template <class Message>
Result<Message> decode_message(ByteView body);

}  // namespace nb::wire
