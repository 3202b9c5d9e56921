// SPDX-License-Identifier: Apache-2.0
// Frames: the input is a header and a payload. The check stops almost every mutation, so the payload is walked whether
// it fits or not; what is walked must add up to the payload. It is also given to a decompressor, as it is and then behind
// a good frame, and what comes out is walked like another payload.
#include "codec/frame_compressor.hpp"
#include "codec/frame_decompressor.hpp"
#include "fuzz/fuzz.hpp"
#include "wire/frame.hpp"

using namespace nb;
using namespace nb::wire;

namespace {

// Bytes of the messages up to the end or the first bad one; all of the payload in the first case.
void walk(ByteView payload) {
  constexpr std::size_t k_message_head_bytes = 5;
  FrameReader reader(payload);
  std::size_t seen = 0;
  while (true) {
    const auto next = reader.next();
    if (!next) {
      fuzz::require(next.error().code == Errc::protocol, "a bad payload is a protocol error");
      return;
    }
    if (!*next) break;
    seen += k_message_head_bytes + (*next)->body.size();
  }
  fuzz::require(seen == payload.size(), "the messages make up the payload");
}

void walk_decompressed(codec::FrameDecompressor& decompressor, ByteView payload) {
  const auto plain = decompressor.decompress(payload, k_max_frame_bytes);
  if (!plain) {
    fuzz::require(plain.error().code == Errc::protocol, "bad compressed data is a protocol error");
    return;
  }
  fuzz::require(!plain->empty() && plain->size() <= k_max_frame_bytes, "a decompressed payload is within its limit");
  walk(*plain);
}

void decompress(ByteView payload) {
  codec::FrameDecompressor alone(codec::Windows::ordinary);
  walk_decompressed(alone, payload);
  codec::FrameCompressor compressor;
  Bytes good;
  fuzz::require(compressor.compress(as_bytes("a frame that went before"), 1, good).has_value(), "compressing works");
  codec::FrameDecompressor later(codec::Windows::ordinary);
  fuzz::require(later.decompress(good, k_max_frame_bytes).has_value(), "what was compressed is read");
  walk_decompressed(later, payload);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input = fuzz::view(data, size);
  const std::size_t header_bytes = std::min(size, k_frame_header_bytes);
  const ByteView header = input.first(header_bytes);
  const ByteView payload = input.subspan(header_bytes);
  const auto decoded = decode_frame_header(header);
  const Status checked = check_frame(header, payload);
  if (!decoded)
    fuzz::require(!checked, "no check without a header");
  else
    fuzz::require(decoded->payload_bytes <= k_max_frame_bytes, "the length is within its limit");
  walk(payload);
  decompress(payload);
  return 0;
}
