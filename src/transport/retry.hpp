// SPDX-License-Identifier: Apache-2.0
// Back-off between attempts to connect: pure arithmetic; session/ does the waiting (Clock) and the trying.
#pragma once

#include <chrono>
#include <cstdint>

namespace nb::transport {

struct BackOff {
  std::chrono::milliseconds first{1000};
  std::chrono::milliseconds cap{60000};
};

// How long to wait before attempt `attempt` (1 is the first repetition): `first` doubled each time up to `cap`, of
// which between a half and the whole, chosen by `random` (any 64 bits), so that clients cut off together do not come
// back together.
std::chrono::milliseconds back_off_delay(const BackOff& back_off, unsigned attempt, std::uint64_t random);

}  // namespace nb::transport
