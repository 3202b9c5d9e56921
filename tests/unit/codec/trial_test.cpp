// SPDX-License-Identifier: Apache-2.0
#include "codec/trial.hpp"

#include <catch2/catch.hpp>

#include "unit/codec/data.hpp"

using namespace nb;
using namespace nb::codec;
using namespace nb::test;

TEST_CASE("random bytes are told from others by a look", "[codec]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    for (const std::size_t size : {512U, 4096U, 4097U, 131'072U}) CHECK(looks_random(random_content(size, seed)));
    CHECK_FALSE(looks_random(text_content(4096, seed)));
  }
  CHECK_FALSE(looks_random(random_content(511, 1)));  // too little to tell
  CHECK_FALSE(looks_random(Bytes(100'000)));
  // Seven bits of eight: worth an eighth.
  Bytes seven = random_content(100'000, 2);
  for (std::byte& b : seven) b &= std::byte{0x7F};
  CHECK_FALSE(looks_random(seven));
  // Mostly random, with text in between, as small files of both kinds in one frame are.
  Bytes mixed = random_content(60'000, 3);
  const Bytes text = text_content(60'000, 3);
  mixed.insert(mixed.end(), text.begin(), text.end());
  CHECK_FALSE(looks_random(mixed));
}

TEST_CASE("what does not shrink is tried ever more rarely, text always", "[codec]") {
  Trial trial;
  const Bytes noise = random_content(10'000, 1);
  const Bytes text = text_content(10'000, 1);
  unsigned tried = 0;
  for (int i = 0; i < 1000; ++i) {
    if (trial.worth_trying(noise)) {
      ++tried;
      trial.tried(noise.size(), noise.size() + 10);
    }
    if (i % 100 != 50) continue;
    CHECK(trial.worth_trying(text));
    trial.tried(text.size(), text.size() / 5);
  }
  CHECK(tried > 10);
  CHECK(tried < 25);
}

TEST_CASE("random looks with long repeats in it are found by trying", "[codec]") {
  Trial trial;
  const Bytes noise = random_content(10'000, 1);
  while (trial.worth_trying(noise)) trial.tried(noise.size(), noise.size());
  unsigned skipped = 1;
  while (!trial.worth_trying(noise)) ++skipped;
  CHECK(skipped == 8);
  trial.tried(noise.size(), 100);  // seen before
  for (int i = 0; i < 20; ++i) {
    REQUIRE(trial.worth_trying(noise));
    trial.tried(noise.size(), 100);
  }
}
