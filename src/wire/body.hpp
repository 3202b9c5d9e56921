// SPDX-License-Identifier: Apache-2.0
// Internal to wire/: Body<Message>, one specialisation per message with its name, write() and read(), and the checked
// reads they are made of. Every read names its field in the error ("listing: value out of range (size)").
#pragma once

#include "wire/messages.hpp"

namespace nb::wire {

// Specialised next to each message's encoding:
//   static constexpr std::string_view k_what;
//   static void write(ByteWriter& out, const Message& message);
//   static Result<Message> read(ByteReader& in);
template <class Message>
struct Body;

template <class Message>
void encode_message(ByteWriter& out, const Message& message) {
  Body<Message>::write(out, message);
}

template <class Message>
Result<Message> decode_message(ByteView body) {
  ByteReader in(body, Errc::protocol, Body<Message>::k_what);
  if (body.size() > k_max_message_bytes) return in.bad("message too long");
  NB_TRY_ASSIGN(Message message, Body<Message>::read(in));
  if (!in.at_end()) return in.bad("bytes left over");
  return message;
}

// Errc::usage for what the peer would refuse, found by doing what the peer does.
template <class Message>
Status check_acceptable(const Message& message) {
  Bytes body;
  ByteWriter out(body);
  encode_message(out, message);
  const Result<Message> decoded = decode_message<Message>(body);
  if (!decoded) return fail(Errc::usage, decoded.error().context);
  return {};
}

// At the end of each source file, once per message.
#define NB_WIRE_INSTANTIATE(Message)                                  \
  template void encode_message<Message>(ByteWriter&, const Message&); \
  template Result<Message> decode_message<Message>(ByteView)

// Appends the field's name to a reader's error.
tl::unexpected<Error> in_field(Error error, std::string_view field);

enum class Emptiness : std::uint8_t { allowed, refused };

Result<std::uint64_t> read_number(ByteReader& in, std::string_view field, std::uint64_t max);
Result<std::uint32_t> read_u32(ByteReader& in, std::string_view field, std::uint32_t max);
// One byte, a value of 1..max: every enum of the protocol is numbered that way.
Result<std::uint8_t> read_kind(ByteReader& in, std::string_view field, std::uint8_t max);
// One byte without bits outside `known`.
Result<std::uint8_t> read_bits(ByteReader& in, std::string_view field, std::uint8_t known);
// A string without NUL, as the kernel takes it.
Result<std::string> read_c_string(ByteReader& in, std::string_view field, std::size_t max_bytes, Emptiness emptiness);
// A name that may be created, which nbackup's own (is_reserved_name) never may.
Result<std::string> read_name(ByteReader& in, std::string_view field);
// A path of such names.
Result<RelPath> read_path(ByteReader& in, std::string_view field, Emptiness emptiness);
Result<Id> read_id(ByteReader& in, std::string_view field);
Result<hash::Digest> read_digest(ByteReader& in, std::string_view field);

void write_key(ByteWriter& out, const FileKey& key);
Result<FileKey> read_key(ByteReader& in);

// True for a name that a peer may send: safe and not reserved.
bool is_sendable_name(std::string_view name);

// `text` cut at `max_bytes`: for texts that only people read, where a part is better than a refusal by the peer.
std::string_view clip(std::string_view text, std::size_t max_bytes);

}  // namespace nb::wire
