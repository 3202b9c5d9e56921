// SPDX-License-Identifier: Apache-2.0
#include "transport/byte_ring.hpp"

#include <catch2/catch.hpp>
#include <cstring>

namespace nb::transport {

TEST_CASE("a ring keeps order across its seam", "[transport]") {
  ByteRing ring(7);
  unsigned next_in = 0;
  unsigned next_out = 0;
  for (int round = 0; round < 100; ++round) {
    const auto region = ring.free_region();
    REQUIRE(region.size() <= ring.room());
    const std::size_t put = std::min<std::size_t>(region.size(), static_cast<std::size_t>(round % 5 + 1));
    for (std::size_t i = 0; i < put; ++i) region[i] = static_cast<std::byte>(next_in++);
    ring.commit(put);
    const ByteView filled = ring.filled_region();
    const std::size_t taken = std::min<std::size_t>(filled.size(), static_cast<std::size_t>(round % 3 + 1));
    for (std::size_t i = 0; i < taken; ++i) REQUIRE(filled[i] == static_cast<std::byte>(next_out++));
    ring.consume(taken);
    REQUIRE(ring.size() == next_in - next_out);
    REQUIRE(ring.size() + ring.room() == 7);
  }
  CHECK(next_out > 100);
}

TEST_CASE("a full ring has no free region, an empty one nothing filled", "[transport]") {
  ByteRing ring(4);
  CHECK(ring.filled_region().empty());
  ring.commit(ring.free_region().size());
  CHECK(ring.room() == 0);
  CHECK(ring.free_region().empty());
  CHECK(ring.filled_region().size() == 4);
}

}  // namespace nb::transport
