// SPDX-License-Identifier: Apache-2.0
// Signatures that are stale, damaged or lies, and deltas that no matcher makes.
#include "unit/delta/rig.hpp"

using namespace nb;
using namespace nb::delta;
using namespace nb::delta::test;

namespace {

// Whatever the signature says: the applier's digest is that of what it wrote, the matcher's that of what it read.
void check_honest(fs::Directory& in, HeldSignature& signature, fs::File& basis, fs::File& content) {
  const auto output = good(in.create_file("out"));
  const auto outcome = run_delta(content, basis, signature, *output);
  if (outcome) {
    const Bytes made = content_of(*output);
    const Bytes wanted = content_of(content);
    CHECK(outcome->sink == digest_of(made));
    CHECK(outcome->source == digest_of(wanted));
    CHECK(((outcome->sink == outcome->source) == (made == wanted)));
  } else {
    CHECK(outcome.error().code == Errc::protocol);
  }
  good(in.remove_file("out"));
}

}  // namespace

TEST_CASE("wrong signatures never give a digest that is not the content's", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  const Bytes content = joined({random_bytes(500'000, 1), Bytes(200'000), random_bytes(300'000, 2)});
  const auto basis = store(*root, "basis", content, Zeros::left_out);
  const auto changed = store(*root, "new", joined({random_bytes(700, 3), content}), Zeros::left_out);
  const HeldSignature honest = HeldSignature::of(*basis);
  std::mt19937_64 random(4);
  const std::vector<std::function<void(BlockSignature&)>> lies = {
      [&](BlockSignature& block) { block.weak = random(); },
      [&](BlockSignature& block) { block.weak = 0; },
      [&](BlockSignature& block) { block.strong.bytes[random() % 16] ^= std::byte{1}; },
      [&](BlockSignature& block) { block.strong = signer().zeros().strong; },
      [&](BlockSignature& block) { block.pages[random() % 16] = static_cast<std::uint32_t>(random()); },
      [&](BlockSignature& block) { block.pages = signer().sign(random_bytes(k_block_bytes, 5)).pages; },
      [&](BlockSignature& block) { block = signer().sign(random_bytes(k_block_bytes, 6)); },
      [&](BlockSignature& block) { block = signer().zeros(); },
  };
  for (const auto& lie : lies) {
    HeldSignature signature = honest;
    signature.change(lie);
    check_honest(*root, signature, *basis, *changed);
    check_honest(*root, signature, *basis, *basis);
  }
}

TEST_CASE("the signature of another file is noticed by the digests", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  const Bytes wanted = random_bytes(600'000, 7);
  const auto content = store(*root, "new", wanted, Zeros::written);
  const auto stale = store(*root, "stale", wanted, Zeros::written);
  const auto basis = store(*root, "basis", random_bytes(600'000, 8), Zeros::written);
  HeldSignature signature = HeldSignature::of(*stale);
  const auto output = good(root->create_file("out"));
  const Outcome outcome = good(run_delta(*content, *basis, signature, *output));
  CHECK(outcome.sink != outcome.source);
  CHECK(outcome.sink == digest_of(content_of(*output)));
}

TEST_CASE("a page check that collides is noticed by the digests", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  const Bytes old = random_bytes(k_block_bytes, 9);
  Bytes wanted = old;
  wanted[5000] ^= std::byte{1};
  const auto basis = store(*root, "basis", old, Zeros::written);
  const auto content = store(*root, "new", wanted, Zeros::written);
  HeldSignature signature = HeldSignature::of(*basis);
  signature.change([&](BlockSignature& block) { block.pages = signer().sign(wanted).pages; });
  const auto output = good(root->create_file("out"));
  const Outcome outcome = good(run_delta(*content, *basis, signature, *output));
  CHECK(outcome.totals.literal_bytes == 0);
  CHECK(outcome.sink != outcome.source);
}

TEST_CASE("a piece of another shape is refused, a missing one costs its content", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  const auto basis = store(*root, "basis", random_bytes(600'000, 10), Zeros::written);
  const auto output = good(root->create_file("out"));
  struct Wrong final : BasisSignature {
    Result<std::shared_ptr<const SignaturePiece>> piece(std::uint64_t index) override {
      return std::make_shared<const SignaturePiece>(index, signer());
    }
  } wrong;
  CHECK(code(run_delta(*basis, *basis, wrong, *output)) == Errc::protocol);
  HeldSignature nothing(600'000);
  const auto fresh = good(root->create_file("out2"));
  const Outcome outcome = good(run_delta(*basis, *basis, nothing, *fresh));
  CHECK(outcome.totals.literal_bytes == 600'000);
  CHECK(outcome.sink == outcome.source);
  CHECK(nothing.asked() == 1);
}

TEST_CASE("random bytes are no signature", "[delta]") {
  std::mt19937 random(11);
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Bytes blob = random_bytes(random() % 300, seed);
    if (!blob.empty()) blob[0] = std::byte{1};
    const auto piece = SignaturePiece::decode(blob, 0, 1 + random() % 200'000, signer(), Errc::protocol);
    if (!piece) CHECK(piece.error().code == Errc::protocol);
  }
}
