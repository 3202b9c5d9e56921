// SPDX-License-Identifier: Apache-2.0
#include "transport/retry.hpp"

#include <catch2/catch.hpp>

namespace nb::transport {

using namespace std::chrono_literals;

TEST_CASE("back-off doubles up to its cap", "[transport]") {
  const BackOff back_off{1000ms, 60000ms};
  CHECK(back_off_delay(back_off, 1, 0) == 1000ms);
  CHECK(back_off_delay(back_off, 2, 0) == 2000ms);
  CHECK(back_off_delay(back_off, 6, 0) == 32000ms);
  CHECK(back_off_delay(back_off, 7, 0) == 60000ms);
  CHECK(back_off_delay(back_off, 4'000'000'000, 0) == 60000ms);
}

TEST_CASE("jitter takes away up to a half", "[transport]") {
  const BackOff back_off{1000ms, 60000ms};
  CHECK(back_off_delay(back_off, 1, 500) == 500ms);
  CHECK(back_off_delay(back_off, 1, 501) == 1000ms);
  for (std::uint64_t random = 1; random != 0; random *= 3) {
    const auto delay = back_off_delay(back_off, 3, random);
    REQUIRE(delay >= 2000ms);
    REQUIRE(delay <= 4000ms);
    if (random > 1'000'000'000'000) break;
  }
}

TEST_CASE("odd settings do not break the arithmetic", "[transport]") {
  CHECK(back_off_delay({0ms, 1000ms}, 5, 17) == 0ms);
  CHECK(back_off_delay({5000ms, 1000ms}, 1, 0) == 1000ms);
}

}  // namespace nb::transport
