// SPDX-License-Identifier: Apache-2.0
// Which signatures a client remembers of what it sends.
#include "session/signature_recorder.hpp"

#include <catch2/catch.hpp>

#include "support/temp_dir.hpp"

using namespace nb;

namespace {

// The digest of a content of so many blocks, after it was recorded.
hash::Digest record(cache::SignatureMemory& memory, const hash::Secret& secret, std::size_t blocks) {
  const delta::BlockSigner signer(secret);
  const Bytes content(blocks * delta::k_block_bytes, static_cast<std::byte>(blocks));
  session::SignatureRecorder recorder(&memory, secret, content.size());
  delta::SignatureBuilder builder(signer, recorder.taker());
  REQUIRE(builder.update(content));
  const hash::Digest digest = builder.finish().value();
  recorder.keep(digest);
  return digest;
}

}  // namespace

TEST_CASE("a signature that would take the place of all others is not kept", "[session]") {
  const test::TempDir temp;
  SystemClock clock;
  const hash::Secret secret = hash::Secret::generate().value();
  const auto store = cache::open_client_store(temp.path("cache.db"), {});
  cache::SignatureMemory memory(store, clock, 3000);
  const hash::Digest small = record(memory, secret, 10);
  const hash::Digest large = record(memory, secret, 20);
  memory.flush();
  CHECK(memory.piece({small, secret.id()}, 0));
  CHECK_FALSE(memory.piece({large, secret.id()}, 0));
}
