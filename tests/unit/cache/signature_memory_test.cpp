// SPDX-License-Identifier: Apache-2.0
// Signatures that the client remembers: pieces come back as they were, the limit holds, altered ones are not given out.
#include "cache/signature_memory.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include "cache/upkeep.hpp"
#include "unit/cache/temp.hpp"

namespace {

using namespace nb::cache_test;
using namespace nb::cache;

nb::Bytes bytes_of(std::size_t size, std::uint8_t seed) {
  nb::Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31 + seed);
  return bytes;
}

}  // namespace

TEST_CASE("pieces of a signature come back in another process", "[cache]") {
  const TempDirectory temp;
  FixedClock clock;
  const SignatureKey key{digest_number(1), 7};
  {
    SignatureMemory memory(open_client_store(temp.file("c.db"), {}), clock);
    memory.put_piece(key, 0, bytes_of(1000, 1));
    memory.put_piece(key, 4'000'000'000, bytes_of(70'000, 2));
    memory.put_piece(key, 0, bytes_of(900, 3));
  }
  SignatureMemory memory(open_client_store(temp.file("c.db"), {}), clock);
  CHECK(memory.piece(key, 0) == bytes_of(900, 3));
  CHECK(memory.piece(key, 4'000'000'000) == bytes_of(70'000, 2));
  CHECK_FALSE(memory.piece(key, 1));
  CHECK_FALSE(memory.piece({digest_number(2), 7}, 0));
  CHECK_FALSE(memory.piece({digest_number(1), 8}, 0));
}

TEST_CASE("the signatures used longest ago go when the limit is reached", "[cache]") {
  const TempDirectory temp;
  FixedClock clock;
  const auto store = open_client_store(temp.file("c.db"), {});
  const auto key = [](std::uint64_t number) { return SignatureKey{digest_number(number), 7}; };
  {
    SignatureMemory memory(store, clock, 3000);
    for (std::uint64_t i = 0; i < 3; ++i) {
      memory.put_piece(key(i), 0, bytes_of(1000, 1));
      memory.flush();
      clock.now += std::chrono::seconds(1);
    }
  }
  SignatureMemory memory(store, clock, 3000);
  CHECK(memory.piece(key(0), 0));  // now the newest
  clock.now += std::chrono::seconds(1);
  memory.put_piece(key(3), 0, bytes_of(1000, 1));
  memory.flush();
  CHECK(memory.piece(key(0), 0));
  CHECK_FALSE(memory.piece(key(1), 0));
  CHECK(memory.piece(key(2), 0));
  CHECK(memory.piece(key(3), 0));
  CHECK(measure(*store)->signature_bytes == 3000);
}

TEST_CASE("an altered piece is not given out", "[cache]") {
  const TempDirectory temp;
  FixedClock clock;
  const SignatureKey key{digest_number(1), 7};
  const auto store = open_client_store(temp.file("c.db"), {});
  SignatureMemory memory(store, clock);
  memory.put_piece(key, 0, bytes_of(1000, 1));
  memory.flush();
  {
    SQLite::Database database(temp.file("c.db"), SQLite::OPEN_READWRITE);
    database.exec("UPDATE signature_pieces SET data = zeroblob(1000)");
  }
  CHECK_FALSE(memory.piece(key, 0));
}

TEST_CASE("a piece that is too large is not kept", "[cache]") {
  const TempDirectory temp;
  FixedClock clock;
  SignatureMemory memory(open_client_store(temp.file("c.db"), {}), clock);
  memory.put_piece({digest_number(1), 7}, 0, nb::Bytes(k_max_piece_bytes + 1));
  CHECK_FALSE(memory.piece({digest_number(1), 7}, 0));
}

TEST_CASE("pieces are settled under the digest that is known at last", "[cache]") {
  const TempDirectory temp;
  FixedClock clock;
  const auto store = open_client_store(temp.file("c.db"), {});
  const SignatureKey unknown{digest_number(1), 7};
  const SignatureKey known{digest_number(2), 7};
  const auto settle_in = [&](bool written_before) {
    SignatureMemory memory(store, clock);
    memory.put_piece(known, 5, bytes_of(10, 5));
    memory.put_piece(unknown, 0, bytes_of(1000, 1));
    if (written_before) memory.flush();
    memory.put_piece(unknown, 1, bytes_of(1000, 2));
    memory.settle(unknown, known);
    CHECK(memory.piece(known, 0) == bytes_of(1000, 1));
  };
  for (const bool written_before : {false, true}) {
    settle_in(written_before);
    SignatureMemory memory(store, clock);
    CHECK(memory.piece(known, 0) == bytes_of(1000, 1));
    CHECK(memory.piece(known, 1) == bytes_of(1000, 2));
    CHECK_FALSE(memory.piece(known, 5));
    CHECK_FALSE(memory.piece(unknown, 0));
    CHECK(measure(*store)->signatures == 1);
    CHECK(measure(*store)->signature_bytes == 2000);
  }
}

TEST_CASE("a signature that is forgotten leaves nothing", "[cache]") {
  const TempDirectory temp;
  FixedClock clock;
  const auto store = open_client_store(temp.file("c.db"), {});
  const SignatureKey key{digest_number(1), 7};
  SignatureMemory memory(store, clock);
  memory.put_piece(key, 0, bytes_of(1000, 1));
  memory.flush();
  memory.put_piece(key, 1, bytes_of(1000, 1));
  memory.forget(key);
  memory.flush();
  CHECK_FALSE(memory.piece(key, 0));
  CHECK_FALSE(memory.piece(key, 1));
  CHECK(measure(*store)->signatures == 0);
}

TEST_CASE("many signatures are written in few transactions", "[cache]") {
  const TempDirectory temp;
  FixedClock clock;
  const auto store = open_client_store(temp.file("c.db"), {});
  SignatureMemory memory(store, clock);
  for (std::uint64_t i = 0; i < 1000; ++i) memory.put_piece({digest_number(i), 7}, 0, bytes_of(100, 1));
  CHECK(measure(*store)->signatures == 0);
  CHECK(memory.piece({digest_number(999), 7}, 0) == bytes_of(100, 1));
  memory.put_piece({digest_number(1000), 7}, 0, bytes_of(std::size_t{4} << 20, 1));
  CHECK(measure(*store)->signatures == 1001);
}
