// SPDX-License-Identifier: Apache-2.0
// Messages: the first byte of the input is a type, the rest a body. What decodes must encode to something that decodes
// to the same.
#include "fuzz/fuzz.hpp"
#include "wire/messages.hpp"

using namespace nb;
using namespace nb::wire;

namespace {

template <class Message>
void round_trip(ByteView body) {
  const Result<Message> first = decode_message<Message>(body);
  if (!first) {
    fuzz::require(first.error().code == Errc::protocol, "a bad body is a protocol error");
    return;
  }
  Bytes encoded;
  ByteWriter out(encoded);
  encode_message(out, *first);
  fuzz::require(encoded.size() <= body.size(), "our own encoding is the shortest");
  const Result<Message> second = decode_message<Message>(encoded);
  fuzz::require(second.has_value(), "what was encoded decodes");
  Bytes again;
  ByteWriter out_again(again);
  encode_message(out_again, *second);
  fuzz::require(again == encoded, "and to the same");
}

template <class... Messages>
void dispatch(std::uint8_t type, ByteView body) {
  ((static_cast<std::uint8_t>(Messages::k_type) == type ? round_trip<Messages>(body) : void()), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  dispatch<Hello, Open, Opened, ErrorMessage, Problem, DirectoryMessage, DirectoryReply, Listing, DirectoryDone, Want,
           FileBegin, Data, Hole, FileEnd, SmallFile, ScanEnd, Item, Notice, Phase, RunResult, KeepAlive, Query,
           QueryReply, Goodbye, SignatureRequest, Signature, Copy, BasisDone, FileDigest, Command, Text, CommandEnd>(
      data[0], fuzz::view(data, size).subspan(1));
  return 0;
}
