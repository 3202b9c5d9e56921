// SPDX-License-Identifier: Apache-2.0
#include "codec/compression.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::codec;

TEST_CASE("a level is within what both ends can bear", "[codec]") {
  CHECK(compression_of_level(0)->mode == CompressionMode::off);
  for (const int level : {-7, -1, 1, 19}) {
    CHECK(*compression_of_level(level) == Compression{CompressionMode::fixed, level});
  }
  for (const int level : {-8, 20, 1000}) CHECK(compression_of_level(level).error().code == Errc::usage);
}

TEST_CASE("what is asked for comes back from the wire, and nothing else does", "[codec]") {
  unsigned accepted = 0;
  for (std::uint64_t code = 0; code < 300; ++code) {
    const auto decoded = decode_compression(code);
    if (!decoded) {
      CHECK(decoded.error().code == Errc::protocol);
      continue;
    }
    ++accepted;
    CHECK(encode(*decoded) == code);
  }
  CHECK(accepted == 2 + 27);
  CHECK(encode({}) == 0);
  CHECK(encode({CompressionMode::off, 0}) == 1);
  CHECK(encode({CompressionMode::fixed, -7}) == 9);
  CHECK(encode({CompressionMode::fixed, 19}) == 35);
  CHECK_FALSE(decode_compression(~std::uint64_t{0}));
}
