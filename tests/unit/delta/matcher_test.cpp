// SPDX-License-Identifier: Apache-2.0
// What each kind of change may cost, and what must not happen with contents made to be difficult.
#include <set>

#include "base/clock.hpp"
#include "unit/delta/rig.hpp"

using namespace nb;
using namespace nb::delta;
using namespace nb::delta::test;

namespace {

struct World {
  fs::SimFileSystem disk;
  std::unique_ptr<fs::Directory> root = disk.root();
  std::uint64_t literal(ByteView basis, ByteView content) { return check_delta(*root, basis, content).literal_bytes; }
};

}  // namespace

TEST_CASE("the same content costs nothing", "[delta]") {
  World world;
  for (const std::size_t size : {std::size_t{1}, k_block_bytes - 1, k_block_bytes, 3 * k_mib + 12'345}) {
    const Bytes content = random_bytes(size, 1);
    CHECK(world.literal(content, content) == 0);
  }
}

TEST_CASE("pages changed in place cost these pages", "[delta]") {
  World world;
  const Bytes basis = random_bytes(4 * k_mib + 100, 2);
  Bytes content = basis;
  std::mt19937 random(3);
  std::set<std::size_t> pages;
  while (pages.size() < 20) pages.insert(random() % (4 * k_mib / k_page_bytes));
  for (const std::size_t page : pages) content[page * k_page_bytes + random() % k_page_bytes] ^= std::byte{1};
  CHECK(world.literal(basis, content) == 20 * k_page_bytes);
}

TEST_CASE("a block overwritten whole costs that block", "[delta]") {
  World world;
  const Bytes basis = random_bytes(2 * k_mib, 4);
  Bytes content = basis;
  const Bytes other = random_bytes(k_block_bytes, 5);
  std::copy(other.begin(), other.end(), content.begin() + 5 * k_block_bytes);
  CHECK(world.literal(basis, content) == k_block_bytes);
}

TEST_CASE("appended bytes cost themselves, a lost tail a page", "[delta]") {
  World world;
  const Bytes basis = random_bytes(k_mib + 1000, 6);
  CHECK(world.literal(basis, joined({basis, random_bytes(70'000, 7)})) == 70'000);
  CHECK(world.literal(basis, ByteView(basis).first(900'000)) <= k_page_bytes);
}

TEST_CASE("a lost front, inserted and removed bytes cost two pages beside themselves", "[delta]") {
  World world;
  const Bytes basis = random_bytes(3 * k_mib + 777, 8);
  const ByteView all = basis;
  CHECK(world.literal(basis, all.subspan(100'001)) <= k_page_bytes);
  const Bytes inserted = random_bytes(1000, 9);
  CHECK(world.literal(basis, joined({inserted, all})) <= 1000 + k_page_bytes);
  for (const std::size_t at : {std::size_t{k_mib}, k_mib + 500, k_mib + 5000, k_mib + 60'000}) {
    CHECK(world.literal(basis, joined({all.first(at), inserted, all.subspan(at)})) <= 1000 + 2 * k_page_bytes);
    CHECK(world.literal(basis, joined({all.first(at), all.subspan(at + 99'999)})) <= 2 * k_page_bytes);
  }
}

TEST_CASE("moved parts cost their edges", "[delta]") {
  World world;
  const Bytes basis = random_bytes(3 * k_mib, 10);
  const ByteView all = basis;
  const Bytes swapped = joined({all.subspan(k_mib + 333), all.first(k_mib + 333)});
  CHECK(world.literal(basis, swapped) <= 2 * k_block_bytes);
  CHECK(world.literal(basis, joined({all, all})) == 0);
}

TEST_CASE("an edit beside a moved block does not lose the way", "[delta]") {
  World world;
  const Bytes basis = random_bytes(2 * k_mib, 11);
  Bytes content = basis;
  // Block 3 becomes a copy of block 20; in block 4 one page changes.
  std::copy_n(basis.begin() + 20 * k_block_bytes, k_block_bytes, content.begin() + 3 * k_block_bytes);
  content[4 * k_block_bytes + 9 * k_page_bytes] ^= std::byte{1};
  CHECK(world.literal(basis, content) == k_page_bytes);
}

TEST_CASE("a basis that ends before a hole of the new content", "[delta]") {
  World world;
  // The basis has nothing where the data after the hole begins, but its short tail could be at the very end.
  const Bytes content =
      joined({random_bytes(k_page_bytes, 16), Bytes(300'000 / k_page_bytes * k_page_bytes), random_bytes(60'000, 17)});
  const Bytes basis = joined({ByteView(content).first(k_block_bytes), random_bytes(10'000, 18)});
  CHECK(check_delta(*world.root, basis, content, Zeros::left_out).literal_bytes <= 60'000);
}

TEST_CASE("zeros do not lead astray", "[delta]") {
  World world;
  const Bytes some = random_bytes(k_mib, 12);
  const Bytes zeros(k_mib);
  const Bytes basis = joined({some, zeros, random_bytes(k_mib, 13)});
  const Bytes moved = joined({Bytes(1, std::byte{9}), basis});
  CHECK(world.literal(basis, moved) <= 1 + k_page_bytes);
  // Half of each block is zeros, and everything moves by one byte: equal pages of zeros do not hide the move.
  Bytes holey = basis;
  for (std::size_t at = 0; at < holey.size(); at += k_block_bytes) {
    std::fill_n(holey.begin() + static_cast<std::ptrdiff_t>(at), k_block_bytes / 2, std::byte{0});
  }
  CHECK(world.literal(holey, joined({Bytes(1, std::byte{9}), holey})) <= 2 * k_page_bytes);
}

TEST_CASE("contents that collide everywhere take time in proportion to their size", "[delta]") {
  World world;
  SystemClock clock;
  const auto begin = clock.steady();
  // One byte repeated, moved against itself; a period that no block divides; blocks with equal weak sums.
  const Bytes ones(8 * k_mib, std::byte{1});
  CHECK(world.literal(ones, joined({Bytes(1, std::byte{2}), ones})) <= k_block_bytes);
  Bytes period(8 * k_mib);
  for (std::size_t i = 0; i < period.size(); ++i) period[i] = static_cast<std::byte>(i % 251);
  CHECK(world.literal(period, joined({Bytes(1, std::byte{2}), period})) <= 2 * k_block_bytes);
  Bytes equal_sums = random_bytes(8 * k_mib, 14);
  Bytes not_there = equal_sums;
  // +1 -2 +1 at neighbours changes neither the sum nor the sum of sums.
  for (std::size_t at = 1000; at + 2 < not_there.size(); at += k_page_bytes) {
    for (Bytes* each : {&equal_sums, &not_there}) (*each)[at] = (*each)[at + 1] = (*each)[at + 2] = std::byte{10};
    not_there[at] = not_there[at + 2] = std::byte{11};
    not_there[at + 1] = std::byte{8};
  }
  CHECK(world.literal(equal_sums, not_there) == not_there.size());
  CHECK(std::chrono::duration_cast<std::chrono::seconds>(clock.steady() - begin).count() < 10);
}

TEST_CASE("a file that becomes shorter while it is read is noticed", "[delta]") {
  World world;
  const auto basis = store(*world.root, "basis", random_bytes(k_mib, 15), Zeros::written);
  const auto content = store(*world.root, "new", random_bytes(k_mib, 15), Zeros::written);
  HeldSignature signature = HeldSignature::of(*basis);
  good(content->set_size(k_mib / 2));
  SignatureBuilder builder(signer());
  const auto output = good(world.root->create_file("out"));
  SignatureBuilder made(signer());
  Applier applier(*output, made, {basis.get(), k_mib, k_mib, {}});
  Matcher matcher(*content, signature, applier, builder, signer(), {k_mib, k_mib});
  // The end looks like a hole; what is read beyond it is not there.
  const auto result = matcher.run();
  if (result)
    CHECK(good(builder.finish()) != digest_of(random_bytes(k_mib, 15)));
  else
    CHECK(result.error().code == Errc::changed);
}

TEST_CASE("the index keeps a few blocks of each sum and finds those it keeps", "[delta]") {
  WeakIndex index;
  index.reset(100, 50);
  BlockSignature block = signer().sign(random_bytes(k_block_bytes, 16));
  for (std::uint64_t i = 0; i < 20; ++i) {
    block.strong.bytes[0] = static_cast<std::byte>(i);
    index.add(100 + i, block);
    index.add(120 + i, block);  // the same again
  }
  const auto found = index.find(block.weak);
  REQUIRE(found.count == WeakIndex::k_max_candidates);
  for (std::size_t i = 0; i < found.count; ++i) CHECK(found.blocks[i] == 100 + i);
  CHECK(index.find(block.weak + 1).count == 0);
}
