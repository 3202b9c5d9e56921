// SPDX-License-Identifier: Apache-2.0
// Frame header, check and the walk over the messages of a payload.
#include "wire/frame.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "hash/digest.hpp"

namespace nb::wire {
namespace {

constexpr std::size_t k_checked_header_bytes = 8;  // the check covers these and the payload
constexpr std::string_view k_magic = "nB";
constexpr unsigned k_known_flags = 1;            // the bits of FrameEncoding
constexpr std::size_t k_message_head_bytes = 5;  // type, length

// An upper bound of a body's size where content dominates it, so that the frame grows once; 0 elsewhere.
template <class Message>
std::size_t expected_bytes(const Message&) {
  return 0;
}
template <>
std::size_t expected_bytes(const Data& message) {
  return message.bytes.size() + 16;
}
template <>
std::size_t expected_bytes(const SmallFile& message) {
  return message.bytes.size() + 64;
}
template <>
std::size_t expected_bytes(const Text& message) {
  return message.bytes.size();
}

template <>
std::size_t expected_bytes(const Signature& message) {
  return message.blob.size() + 32;
}

// Not reserve() alone, which would give up the geometric growth of many small messages.
void make_room(Bytes& frame, std::size_t more) {
  const std::size_t needed = frame.size() + more;
  if (needed > frame.capacity()) frame.reserve(std::max(needed, 2 * frame.capacity()));
}

void store_u32(std::byte* to, std::size_t value) {
  for (std::size_t i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

void store_u64(std::byte* to, std::uint64_t value) {
  for (std::size_t i = 0; i < 8; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

tl::unexpected<Error> not_a_frame(ByteView bytes) {
  const std::string_view text = as_text(bytes.first(std::min(bytes.size(), k_frame_header_bytes)));
  return fail(Errc::protocol, "frame: expected nbackup, got \"" + std::string(text) +
                                  "\" (does the remote shell print text at login?)");
}

}  // namespace

template <class Message>
void FrameBuilder::add(const Message& message) {
  if (m_frame.empty()) m_frame.resize(k_frame_header_bytes);
  make_room(m_frame, k_message_head_bytes + expected_bytes(message));
  ByteWriter out(m_frame);
  out.u8(static_cast<std::uint8_t>(Message::k_type));
  const std::size_t length_at = m_frame.size();
  out.u32(0);
  encode_message(out, message);
  const std::size_t body_bytes = m_frame.size() - length_at - 4;
  NB_ASSERT(body_bytes <= k_max_message_bytes);
  store_u32(m_frame.data() + length_at, body_bytes);
}

std::size_t FrameBuilder::payload_bytes() const { return empty() ? 0 : m_frame.size() - k_frame_header_bytes; }

Bytes FrameBuilder::take_unsealed() {
  NB_ASSERT(!empty() && payload_bytes() <= k_max_frame_bytes);
  return std::exchange(m_frame, {});
}

Bytes FrameBuilder::take() {
  Bytes frame = take_unsealed();
  seal_frame(frame, FrameEncoding::raw);
  return frame;
}

void seal_frame(Bytes& frame, FrameEncoding encoding) {
  NB_ASSERT(frame.size() > k_frame_header_bytes);
  frame[0] = static_cast<std::byte>(k_magic[0]);
  frame[1] = static_cast<std::byte>(k_magic[1]);
  frame[2] = static_cast<std::byte>(encoding);
  frame[3] = std::byte{0};
  store_u32(frame.data() + 4, frame.size() - k_frame_header_bytes);
  const ByteView all = frame;
  const std::uint64_t check = hash::check_of(all.first(k_checked_header_bytes), all.subspan(k_frame_header_bytes));
  store_u64(frame.data() + k_checked_header_bytes, check);
}

Result<FrameHeader> decode_frame_header(ByteView header) {
  if (!k_magic.starts_with(as_text(header).substr(0, k_magic.size()))) return not_a_frame(header);
  ByteReader in(header, Errc::protocol, "frame header");
  NB_TRY(in.raw(k_magic.size()));
  NB_TRY_ASSIGN(const std::uint8_t flags, in.u8());
  if ((flags & ~k_known_flags) != 0) return in.bad("unknown flags");
  NB_TRY_ASSIGN(const std::uint8_t reserved, in.u8());
  if (reserved != 0) return in.bad("reserved byte not zero");
  FrameHeader result;
  result.encoding = static_cast<FrameEncoding>(flags);
  NB_TRY_ASSIGN(result.payload_bytes, in.u32());
  if (result.payload_bytes == 0) return in.bad("empty frame");
  if (result.payload_bytes > k_max_frame_bytes) return in.bad("frame too long");
  NB_TRY_ASSIGN(result.check, in.u64());
  if (!in.at_end()) return in.bad("bytes left over");
  return result;
}

Status check_frame(ByteView header, ByteView payload) {
  NB_TRY_ASSIGN(const FrameHeader decoded, decode_frame_header(header));
  if (payload.size() != decoded.payload_bytes) return fail(Errc::protocol, "frame: wrong length");
  if (hash::check_of(header.first(k_checked_header_bytes), payload) != decoded.check) {
    return fail(Errc::protocol, "frame: check failed, data was damaged on the way");
  }
  return {};
}

Result<std::optional<RawMessage>> FrameReader::next() {
  if (m_in.at_end()) return std::optional<RawMessage>();
  NB_TRY_ASSIGN(const std::uint8_t type, m_in.u8());
  if (type < static_cast<std::uint8_t>(MessageType::hello) ||
      type > static_cast<std::uint8_t>(MessageType::command_end)) {
    return m_in.bad("unknown message type " + std::to_string(type));
  }
  NB_TRY_ASSIGN(const std::uint32_t length, m_in.u32());
  if (length > k_max_message_bytes) return m_in.bad("message too long");
  NB_TRY_ASSIGN(const ByteView body, m_in.raw(length));
  return std::optional<RawMessage>(RawMessage{static_cast<MessageType>(type), body});
}

template void FrameBuilder::add(const Hello&);
template void FrameBuilder::add(const Open&);
template void FrameBuilder::add(const Opened&);
template void FrameBuilder::add(const ErrorMessage&);
template void FrameBuilder::add(const Problem&);
template void FrameBuilder::add(const DirectoryMessage&);
template void FrameBuilder::add(const DirectoryReply&);
template void FrameBuilder::add(const Listing&);
template void FrameBuilder::add(const DirectoryDone&);
template void FrameBuilder::add(const Want&);
template void FrameBuilder::add(const FileBegin&);
template void FrameBuilder::add(const Data&);
template void FrameBuilder::add(const Hole&);
template void FrameBuilder::add(const FileEnd&);
template void FrameBuilder::add(const SmallFile&);
template void FrameBuilder::add(const ScanEnd&);
template void FrameBuilder::add(const Item&);
template void FrameBuilder::add(const Notice&);
template void FrameBuilder::add(const Phase&);
template void FrameBuilder::add(const RunResult&);
template void FrameBuilder::add(const KeepAlive&);
template void FrameBuilder::add(const Query&);
template void FrameBuilder::add(const QueryReply&);
template void FrameBuilder::add(const Goodbye&);
template void FrameBuilder::add(const SignatureRequest&);
template void FrameBuilder::add(const Signature&);
template void FrameBuilder::add(const Copy&);
template void FrameBuilder::add(const BasisDone&);
template void FrameBuilder::add(const FileDigest&);
template void FrameBuilder::add(const Command&);
template void FrameBuilder::add(const Text&);
template void FrameBuilder::add(const CommandEnd&);

}  // namespace nb::wire
