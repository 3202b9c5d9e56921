// SPDX-License-Identifier: Apache-2.0
// What an applier refuses, reads and writes.
#include "unit/delta/rig.hpp"

using namespace nb;
using namespace nb::delta;
using namespace nb::delta::test;

namespace {

struct Stage {
  fs::SimFileSystem disk;
  std::unique_ptr<fs::Directory> root = disk.root();
  Bytes content = random_bytes(k_mib, 1);
  std::unique_ptr<fs::File> basis = store(*root, "basis", content, Zeros::written);
  std::unique_ptr<fs::File> output = fs::test::good(root->create_file("out"));
  SignatureBuilder builder{signer()};
};

}  // namespace

TEST_CASE("what does not fit is refused", "[delta]") {
  Stage stage;
  Applier applier(*stage.output, stage.builder, {stage.basis.get(), k_mib, 2 * k_mib, {}});
  const Bytes bytes(100);
  CHECK(code(applier.data(1, bytes)) == Errc::protocol);
  CHECK(code(applier.data(0, {})) == Errc::protocol);
  CHECK(code(applier.data(0, Bytes(2 * k_mib + 1))) == Errc::protocol);
  good(applier.data(0, bytes));
  CHECK(code(applier.data(0, bytes)) == Errc::protocol);
  CHECK(code(applier.hole(50, 100)) == Errc::protocol);
  CHECK(code(applier.hole(100, 0)) == Errc::protocol);
  CHECK(code(applier.hole(100, ~std::uint64_t{0})) == Errc::protocol);
  CHECK(code(applier.copy(99, 0, 1)) == Errc::protocol);
  CHECK(code(applier.copy(100, 0, 0)) == Errc::protocol);
  CHECK(code(applier.copy(100, k_mib, 1)) == Errc::protocol);
  CHECK(code(applier.copy(100, ~std::uint64_t{0}, 1)) == Errc::protocol);
  CHECK(code(applier.copy(100, 1, k_mib)) == Errc::protocol);
  good(applier.copy(100, 0, k_mib));
  CHECK(code(applier.finish()) == Errc::protocol);
}

TEST_CASE("without a basis there are no copies, but all else", "[delta]") {
  Stage stage;
  Applier applier(*stage.output, stage.builder, {nullptr, 0, 10'000, {}});
  CHECK(code(applier.copy(0, 0, 1)) == Errc::protocol);
  good(applier.data(0, ByteView(stage.content).first(5000)));
  good(applier.hole(5000, 5000));
  const Bytes expected = joined({ByteView(stage.content).first(5000), Bytes(5000)});
  CHECK(good(applier.finish()) == digest_of(expected));
  CHECK((content_of(*stage.output) == expected));
}

TEST_CASE("a clone is written where it differs, and nothing of trusted blocks is read", "[delta]") {
  Stage stage;
  HeldSignature signature = HeldSignature::of(*stage.basis);
  const auto piece = good(signature.piece(0));
  // Gone from under the applier: reading it would be noticed.
  std::vector<std::uint64_t> asked;
  const TrustedBlocks trusted = [&](std::uint64_t block) {
    asked.push_back(block);
    return &piece->block(block);
  };
  Applier applier(*stage.output, stage.builder, {stage.basis.get(), k_mib, k_mib, trusted});
  const std::uint64_t before = stage.disk.operations();
  good(applier.copy(0, 0, 8 * k_block_bytes));
  good(stage.basis->write_at(0, Bytes(k_mib)));  // not read any more
  const Bytes page = random_bytes(k_block_bytes, 2);
  good(applier.data(8 * k_block_bytes, page));
  good(applier.copy(9 * k_block_bytes, 9 * k_block_bytes, 7 * k_block_bytes));
  Bytes expected = stage.content;
  std::copy(page.begin(), page.end(), expected.begin() + 8 * k_block_bytes);
  CHECK(good(applier.finish()) == digest_of(expected));
  CHECK((content_of(*stage.output) == expected));
  CHECK(asked.size() == 15);
  // The clone, our own write to the basis, one of the changed block, the size.
  CHECK(stage.disk.operations() - before == 4);
}

TEST_CASE("holes are punched into a clone and come from the basis", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  const Bytes part = random_bytes(4 * k_block_bytes, 3);
  const Bytes content = joined({part, Bytes(8 * k_block_bytes), part});
  const auto basis = store(*root, "basis", content, Zeros::left_out);
  const auto output = good(root->create_file("out"));
  SignatureBuilder builder(signer());
  Applier applier(*output, builder, {basis.get(), content.size(), content.size(), {}});
  good(applier.copy(0, 0, k_block_bytes));
  good(applier.hole(k_block_bytes, k_block_bytes));
  // Moved by a block and a page: the basis's hole comes along and is punched out of the clone.
  const std::uint64_t length = content.size() - 2 * k_block_bytes;
  good(applier.copy(2 * k_block_bytes, k_block_bytes - k_page_bytes, length));
  Bytes expected(content.begin(), content.begin() + k_block_bytes);
  expected.resize(2 * k_block_bytes);
  expected.insert(expected.end(), content.begin() + k_block_bytes - k_page_bytes,
                  content.begin() + k_block_bytes - k_page_bytes + static_cast<std::ptrdiff_t>(length));
  CHECK(good(applier.finish()) == digest_of(expected));
  CHECK((content_of(*output) == expected));
  CHECK(good(output->stat()).allocated_bytes <= good(basis->stat()).allocated_bytes);
}

TEST_CASE("a basis that becomes shorter is noticed", "[delta]") {
  fs::SimOptions options;
  options.reflink = false;
  fs::SimFileSystem disk(options);
  const auto root = disk.root();
  const auto basis = store(*root, "basis", random_bytes(k_mib, 4), Zeros::written);
  const auto output = good(root->create_file("out"));
  SignatureBuilder builder(signer());
  Applier applier(*output, builder, {basis.get(), k_mib, k_mib, {}});
  good(basis->set_size(k_mib - 100));
  const Status copied = applier.copy(0, 0, k_mib);
  if (!copied) CHECK(copied.error().code == Errc::changed);
  if (!copied) return;
  const hash::Digest digest = good(applier.finish());
  CHECK(digest == digest_of(content_of(*output)));
}
