// SPDX-License-Identifier: Apache-2.0
// One full sample of every message, all fields used; the golden files hold their bytes. And what the tests of wire/
// share: encoding to a value, bodies made by hand, and checks that a body is refused with a certain message.
#pragma once

#include <functional>
#include <string>

#include "wire/frame.hpp"

namespace nb::wire {

// The samples. Views inside them point to static storage.
Hello sample_hello();
Open sample_open();
Open sample_open_at();
Opened sample_opened();
Command sample_command();
RunResult sample_result();
Listing sample_listing();
fs::Metadata sample_metadata();
hash::Digest sample_digest();

// A sample without its type: name of the golden file, type, encoded body.
struct NamedSample {
  std::string name;
  MessageType type{};
  Bytes body;
  std::function<Result<Bytes>(ByteView)> recode;  // decodes a body and encodes the result
  std::function<void(FrameBuilder&)> add;
};
std::vector<NamedSample> all_samples();

template <class Message>
Bytes encode(const Message& message) {
  Bytes body;
  ByteWriter out(body);
  encode_message(out, message);
  return body;
}

// A body written by hand.
Bytes made(const std::function<void(ByteWriter&)>& write);

// The context of the error that `body` is refused with; "accepted" if it is not. Fails if the code is not protocol.
template <class Message>
std::string refusal(ByteView body);

}  // namespace nb::wire
