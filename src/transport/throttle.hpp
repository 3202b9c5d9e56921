// SPDX-License-Identifier: Apache-2.0
// Throttle: a decorator that limits the rate of what is written (--bwlimit), with a token bucket on a Clock. Reading is
// not limited: with a limit set, the other side throttles its own writes.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "transport/byte_stream.hpp"

namespace nb::transport {

struct ThrottleOptions {
  std::uint64_t bytes_per_second = 0;  // 0: no limit, and make_throttle returns the stream unchanged
};

// Takes `inner`; `clock` outlives the result. The bucket holds an eighth of a second's worth (at least 4 KiB), so
// writes go out in pieces of at most that and the average over a second keeps to the limit. Pauses are at most 100 ms
// each, so that close_now() ends a waiting write soon.
std::unique_ptr<ByteStream> make_throttle(std::unique_ptr<ByteStream> inner, ThrottleOptions options, Clock& clock);

}  // namespace nb::transport
