// SPDX-License-Identifier: Apache-2.0
// Weak sums, block signatures, and the encoding of pieces.
#include "delta/rolling_sum.hpp"
#include "unit/delta/rig.hpp"

using namespace nb;
using namespace nb::delta;
using namespace nb::delta::test;

namespace {

SignaturePiece piece_of(ByteView content) {
  SignaturePiece piece(0, signer());
  while (!content.empty()) {
    const std::size_t take = std::min(content.size(), k_block_bytes);
    piece.add(signer().sign(content.first(take)));
    content = content.subspan(take);
  }
  return piece;
}

std::string refusal(ByteView blob, std::uint64_t file_bytes) {
  const auto piece = SignaturePiece::decode(blob, 0, file_bytes, signer(), Errc::protocol);
  if (piece) return "accepted";
  CHECK(piece.error().code == Errc::protocol);
  return piece.error().context;
}

Bytes made(std::initializer_list<std::uint8_t> bytes) {
  Bytes all;
  for (const std::uint8_t b : bytes) all.push_back(static_cast<std::byte>(b));
  return all;
}

}  // namespace

TEST_CASE("a rolled sum is the sum of the bytes under it", "[delta]") {
  const Bytes bytes = random_bytes(k_block_bytes + 5000, 1);
  RollingSum sum = RollingSum::of(ByteView(bytes).first(k_block_bytes));
  for (std::size_t at = 0; at + k_block_bytes < bytes.size(); ++at) {
    if (at % 97 == 0) {
      REQUIRE(sum.value() == RollingSum::of(ByteView(bytes).subspan(at, k_block_bytes)).value());
    }
    sum.roll(bytes[at], bytes[at + k_block_bytes]);
  }
  // Its definition, for a length that is no multiple of anything.
  std::uint32_t plain = 0;
  std::uint32_t nested = 0;
  for (const std::byte b : ByteView(bytes).first(1003)) nested += plain += std::to_integer<std::uint32_t>(b);
  CHECK(RollingSum::of(ByteView(bytes).first(1003)).value() == (std::uint64_t{nested} << 32 | plain));
  CHECK(RollingSum::of(Bytes(k_block_bytes)).value() == 0);
}

TEST_CASE("a piece decodes to what was encoded", "[delta]") {
  const Bytes zeros(3 * k_block_bytes);
  const Bytes some = random_bytes(2 * k_block_bytes, 2);
  const Bytes tail = random_bytes(9000, 3);
  const Bytes zero_tail(9000);
  const std::vector<Bytes> contents = {
      some, zeros, tail, zero_tail, joined({zeros, some, zeros, tail}), joined({some, zeros, zero_tail})};
  for (const Bytes& content : contents) {
    const SignaturePiece piece = piece_of(content);
    const Bytes blob = piece.encode(content.size());
    const SignaturePiece again = good(SignaturePiece::decode(blob, 0, content.size(), signer(), Errc::io));
    REQUIRE(again.size() == blocks_in(content.size()));
    for (std::uint64_t i = 0; i < again.size(); ++i) CHECK((again.block(i) == piece.block(i)));
    for (std::size_t cut = 0; cut < blob.size(); ++cut) {
      CHECK(refusal(ByteView(blob).first(cut), content.size()) != "accepted");
    }
    CHECK(refusal(joined({blob, Bytes(1)}), content.size()) == "signature: bytes left over");
    CHECK(refusal(blob, content.size() + k_block_bytes) != "accepted");
  }
  CHECK(piece_of(zeros).encode(zeros.size()).size() == 2);
}

TEST_CASE("a piece has limits", "[delta]") {
  const std::uint64_t two = 2 * k_block_bytes;
  CHECK(refusal(made({1, 5}), two) == "accepted");  // a run of two blocks of zeros
  CHECK(refusal(made({2, 5}), two) == "signature: unknown format");
  CHECK(refusal(made({1, 7}), two) == "signature: run out of range");
  CHECK(refusal(made({1, 1}), two) == "signature: run out of range");
  CHECK(refusal(made({1, 5}), two - 1) == "signature: zeros beyond the end");
  CHECK(refusal(made({1, 3, 3, 3}), two) == "signature: bytes left over");
  CHECK(refusal(Bytes(k_max_piece_blob_bytes + 1), two) == "signature: too long");
  SignaturePiece full(0, signer());
  for (std::uint64_t i = 0; i < k_piece_blocks; ++i) full.add(signer().sign(Bytes(1, std::byte{1})));
  CHECK(full.encode(k_piece_bytes).size() == 4 + k_piece_blocks * (8 + 16 + 64));
}

TEST_CASE("a builder's digest and pieces do not depend on how the content arrives", "[delta]") {
  const Bytes head = random_bytes(200'000, 4);
  const Bytes content = joined({head, Bytes(5 * k_block_bytes), head});
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<SignaturePiece> pieces;
    SignatureBuilder builder(signer(), [&](SignaturePiece piece) -> Status {
      pieces.push_back(std::move(piece));
      return {};
    });
    SignatureBuilder plain(signer());
    for (std::size_t at = 0; at < content.size();) {
      std::size_t take = std::min<std::size_t>(content.size() - at, 1 + random() % 150'000);
      const ByteView part = ByteView(content).subspan(at, take);
      if (at >= head.size() && at + take <= content.size() - head.size()) {
        good(builder.update_zeros(take));
        good(plain.update_zeros(take));
      } else if (builder.at_block_boundary() && take >= k_block_bytes) {
        take = k_block_bytes;
        good(builder.update_block(signer().sign(part.first(take))));
        good(plain.update_block(signer().sign(part.first(take))));
      } else {
        good(builder.update(part));
        good(plain.update(part));
      }
      at += take;
    }
    CHECK(good(builder.finish()) == digest_of(content));
    CHECK(good(plain.finish()) == digest_of(content));
    REQUIRE(pieces.size() == 1);
    CHECK((pieces[0].encode(content.size()) == piece_of(content).encode(content.size())));
  }
  SignatureBuilder nothing(signer());
  CHECK(good(nothing.finish()) == digest_of({}));
}

TEST_CASE("an error of the piece's taker ends the call", "[delta]") {
  SignatureBuilder builder(signer(), [](SignaturePiece) -> Status { return fail(Errc::no_space, "full"); });
  good(builder.update_zeros(k_piece_bytes - 1));
  CHECK(code(builder.update_zeros(1)) == Errc::no_space);
}
