// SPDX-License-Identifier: Apache-2.0
// Frames: the unit that is checked. A frame is a 16-byte header (docs/protocol.md) and a payload that holds whole
// messages, each type, length, body. Small messages are joined; the XXH3-64 over header and payload catches what an SSH
// connection without a MAC would let through; it is over the bytes as they are sent, which may be compressed (codec/).
// Pure: bytes in, bytes out; session/ moves them.
#pragma once

#include <optional>

#include "base/bytes.hpp"
#include "wire/messages.hpp"

namespace nb::wire {

inline constexpr std::size_t k_frame_header_bytes = 16;

// What the payload's bytes are: the flags byte of the header. Never renumber.
enum class FrameEncoding : std::uint8_t {
  raw = 0,   // the messages themselves
  zstd = 1,  // the next piece of this direction's zstd stream (codec/), with the messages in it
};

// Collects messages into one frame.
class FrameBuilder {
 public:
  // Appends one message; the frame grows as it must. Callers take() once payload_bytes() has reached
  // k_frame_target_bytes; a message over k_max_message_bytes asserts (check_open for what a user can make too long).
  template <class Message>
  void add(const Message& message);
  [[nodiscard]] bool empty() const { return m_frame.size() <= k_frame_header_bytes; }
  [[nodiscard]] std::size_t payload_bytes() const;
  // The finished frame with header and check; the builder is empty afterwards. Asserts that it was not empty.
  [[nodiscard]] Bytes take();
  // The same with a header that is not filled in yet: seal_frame() does that, so that another thread can compress.
  [[nodiscard]] Bytes take_unsealed();

 private:
  Bytes m_frame;
};

// Fills in the header of `frame`, which is room for it followed by the payload as it will be sent.
void seal_frame(Bytes& frame, FrameEncoding encoding);

struct FrameHeader {
  FrameEncoding encoding = FrameEncoding::raw;
  std::uint32_t payload_bytes = 0;
  std::uint64_t check = 0;
};

// Reads the 16 bytes: magic, known flags, length within k_max_frame_bytes. Errc::protocol otherwise; the message says
// when the bytes look like a login banner instead ("did the remote shell print something?"). Checks in this order, so
// that fewer bytes than a header's are enough to name a wrong beginning: truncated comes last.
Result<FrameHeader> decode_frame_header(ByteView header);
// Compares the check with header and payload.
Status check_frame(ByteView header, ByteView payload);

// One message as it lies in a payload.
struct RawMessage {
  MessageType type{};
  ByteView body;
};

// Walks the messages of a checked payload.
class FrameReader {
 public:
  explicit FrameReader(ByteView payload) : m_in(payload, Errc::protocol, "frame") {}
  // The next message; nothing at the end. Unknown types are Errc::protocol.
  Result<std::optional<RawMessage>> next();
  [[nodiscard]] bool at_end() const { return m_in.at_end(); }

 private:
  ByteReader m_in;
};

}  // namespace nb::wire
