// SPDX-License-Identifier: Apache-2.0
// Frames: the input is a header and a payload. The check stops almost every mutation, so the payload is walked whether
// it fits or not; what is walked must add up to the payload.
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input = fuzz::view(data, size);
  const std::size_t header_bytes = std::min(size, k_frame_header_bytes);
  const ByteView header = input.first(header_bytes);
  const ByteView payload = input.subspan(header_bytes);
  const auto decoded = decode_frame_header(header);
  const Status checked = check_frame(header, payload);
  if (!decoded) fuzz::require(!checked, "no check without a header");
  else fuzz::require(decoded->payload_bytes <= k_max_frame_bytes, "the length is within its limit");
  walk(payload);
  return 0;
}
