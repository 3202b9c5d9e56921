// SPDX-License-Identifier: Apache-2.0
// Trial: whether compressing a payload is worth trying. Random and already compressed data pass raw after a look at a
// few KiB of them; because a look can be wrong (it sees no long repeats), such payloads are still tried now and then,
// more and more rarely while they do not shrink. Pure and deterministic.
#pragma once

#include <cstddef>

#include "base/bytes.hpp"

namespace nb::codec {

// Whether the bytes of a sample (at most 4 KiB, from all over `data`) are spread as evenly as random ones. False for
// less than 512 bytes, which say too little.
bool looks_random(ByteView data);

class Trial {
 public:
  // Whether to compress this payload. Each call counts as one payload on its way.
  bool worth_trying(ByteView payload);
  // What became of the payload that was said to be worth it.
  void tried(std::size_t payload_bytes, std::size_t compressed_bytes);

 private:
  bool m_last_looked_random = false;
  unsigned m_left_to_skip = 0;  // payloads that look random and pass untried
  unsigned m_skip = 0;          // how many after the last failure
};

}  // namespace nb::codec
