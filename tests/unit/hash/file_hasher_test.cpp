// SPDX-License-Identifier: Apache-2.0
#include "hash/file_hasher.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "base/text.hpp"

using namespace nb;
using namespace nb::hash;

namespace {

Secret fixed_secret() { return Secret::from_bytes(Bytes(k_secret_bytes, std::byte{7}), Errc::io).value(); }

Bytes random_content(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

// The definition, written down without streaming.
Digest by_definition(ByteView content, const Secret& secret) {
  if (content.size() <= k_block_bytes) return digest_of(content, secret);
  Bytes digests;
  while (!content.empty()) {
    const std::size_t take = std::min(content.size(), k_block_bytes);
    const Digest block = digest_of(content.first(take), secret);
    digests.insert(digests.end(), block.bytes.begin(), block.bytes.end());
    content = content.subspan(take);
  }
  return digest_of(digests, secret);
}

}  // namespace

TEST_CASE("a file's digest is its definition, however the content arrives", "[hash]") {
  const Secret secret = fixed_secret();
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, k_block_bytes - 1, k_block_bytes, k_block_bytes + 1,
                                 2 * k_block_bytes, 5 * k_block_bytes + 17}) {
    const Bytes content = random_content(size, 1);
    const Digest expected = by_definition(content, secret);
    std::mt19937 random(2);
    for (const std::size_t most : {std::size_t{1000}, k_block_bytes, 3 * k_block_bytes}) {
      FileHasher hasher(secret);
      ByteView left = content;
      while (!left.empty()) {
        const std::size_t take = std::min<std::size_t>(left.size(), 1 + random() % most);
        hasher.update(left.first(take));
        left = left.subspan(take);
      }
      CHECK(hasher.size() == size);
      CHECK(hasher.finish() == expected);
    }
  }
}

TEST_CASE("zeros count like the bytes they stand for", "[hash]") {
  const Secret secret = fixed_secret();
  Bytes content(3 * k_block_bytes + 100);
  const Bytes head = random_content(500, 3);
  std::copy(head.begin(), head.end(), content.begin());
  FileHasher hasher(secret);
  hasher.update(head);
  hasher.update_zeros(content.size() - head.size());
  CHECK(hasher.finish() == by_definition(content, secret));
}

TEST_CASE("blocks may come as their digests, and holes of any length", "[hash]") {
  const Secret secret = fixed_secret();
  const Bytes blocks = random_content(2 * k_block_bytes + 77, 6);
  const ByteView all = blocks;
  FileHasher hasher(secret);
  hasher.update_block_digest(digest_of(all.first(k_block_bytes), secret));
  hasher.update(all.subspan(k_block_bytes, k_block_bytes));
  hasher.update_block_digest(digest_of(all.subspan(2 * k_block_bytes), secret), 77);
  CHECK(hasher.size() == blocks.size());
  CHECK(hasher.finish() == by_definition(blocks, secret));

  FileHasher short_one(secret);
  short_one.update_block_digest(digest_of(all.first(5), secret), 5);
  CHECK(short_one.finish() == by_definition(all.first(5), secret));

  const Bytes zeros(600 * k_block_bytes + 9);
  FileHasher holes(secret);
  holes.update_zeros(zeros.size());
  CHECK(holes.size() == zeros.size());
  CHECK(holes.finish() == by_definition(zeros, secret));
}

TEST_CASE("page checks are the low half of the keyed XXH3-64", "[hash]") {
  const Bytes page = random_content(4096, 7);
  CHECK(page_check_of(page, fixed_secret()) == page_check_of(page, fixed_secret()));
  CHECK(page_check_of(page, fixed_secret()) != page_check_of(page, Secret::generate().value()));
  CHECK(page_check_of(as_bytes("nbackup"), fixed_secret()) == 0xC0856B27);
}

TEST_CASE("digests depend on the secret, and the secret's id does not give it away", "[hash]") {
  const Secret one = fixed_secret();
  const Secret other = Secret::generate().value();
  const Bytes content = random_content(100, 4);
  CHECK(digest_of(content, one) != digest_of(content, other));
  CHECK(one.id() != other.id());
  CHECK(Secret::from_bytes(one.stored(), Errc::io)->id() == one.id());
  CHECK_FALSE(Secret::from_bytes(Bytes(31), Errc::bad_set).has_value());
}

TEST_CASE("digests never change between versions", "[hash]") {
  const Digest digest = digest_of(as_bytes("nbackup"), fixed_secret());
  CHECK(to_hex(digest.bytes) == "687b4f5a44362a0c210d1f4966c3d87a");
}

TEST_CASE("the check of two pieces is the check of the whole", "[hash]") {
  const Bytes all = random_content(1000, 5);
  CHECK(check_of(ByteView(all).first(16), ByteView(all).subspan(16)) == check_of(all));
}
