// SPDX-License-Identifier: Apache-2.0
// Files of terabytes that are holes for the most part: time and memory follow the data in them.
#include "base/clock.hpp"
#include "unit/delta/rig.hpp"

using namespace nb;
using namespace nb::delta;
using namespace nb::delta::test;

namespace {

constexpr std::uint64_t k_gib = std::uint64_t{1} << 30;
constexpr std::uint64_t k_size = 4096 * k_gib;
constexpr std::uint64_t k_islands[] = {0, 5 * k_gib + 12'288, 700 * k_gib, 701 * k_gib, 4095 * k_gib};

std::unique_ptr<fs::File> archipelago(fs::Directory& in, const std::string& name) {
  auto file = good(in.create_file(name));
  good(file->set_size(k_size));
  unsigned seed = 1;
  for (const std::uint64_t at : k_islands) good(file->write_at(at, random_bytes(k_mib, seed++)));
  return file;
}

}  // namespace

TEST_CASE("an image of 4 TiB with a few islands costs the islands", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  SystemClock clock;
  const auto begin = clock.steady();
  const auto basis = archipelago(*root, "basis");
  const auto content = archipelago(*root, "new");
  good(content->write_at(700 * k_gib + 100'000, random_bytes(4096, 99)));
  good(content->write_at(2000 * k_gib, random_bytes(10'000, 98)));
  HeldSignature signature = HeldSignature::of(*basis);
  CHECK(signature.bytes() < 30'000);
  const auto output = good(root->create_file("out"));
  const Outcome outcome = good(run_delta(*content, *basis, signature, *output, {{}, 4}));
  CHECK(outcome.source == outcome.sink);
  CHECK(outcome.totals.literal_bytes <= 4 * k_page_bytes + 10'000 + k_page_bytes);
  CHECK(outcome.totals.hole_bytes > k_size - 16 * k_mib);
  // Four at the matcher, and the one that is just given to it.
  CHECK(signature.most_alive() <= 4);
  // The islands' pieces, and the surroundings of what was searched.
  CHECK(signature.asked() <= 20);
  Bytes piece(k_mib);
  for (const std::uint64_t at : k_islands) {
    Bytes other(k_mib);
    good(content->read_at(at, piece));
    good(output->read_at(at, other));
    CHECK((piece == other));
  }
  CHECK(good(output->stat()).allocated_bytes < 8 * k_mib);
  CHECK(std::chrono::duration_cast<std::chrono::seconds>(clock.steady() - begin).count() < 20);
}

TEST_CASE("the window follows the matcher and stays small", "[delta]") {
  fs::SimFileSystem disk;
  const auto root = disk.root();
  const std::uint64_t size = 40 * k_gib;
  const auto basis = good(root->create_file("basis"));
  const auto content = good(root->create_file("new"));
  good(basis->set_size(size));
  good(content->set_size(size));
  // In every piece a block is replaced, so that there is a search, and the next one is kept.
  for (std::uint64_t i = 0; i < 40; ++i) {
    const Bytes kept = random_bytes(2 * k_block_bytes, static_cast<unsigned>(i));
    good(basis->write_at(i * k_gib, kept));
    good(content->write_at(i * k_gib, random_bytes(k_block_bytes, static_cast<unsigned>(i + 100))));
    good(content->write_at(i * k_gib + k_block_bytes, ByteView(kept).subspan(k_block_bytes)));
  }
  HeldSignature signature = HeldSignature::of(*basis);
  const auto output = good(root->create_file("out"));
  const Outcome outcome = good(run_delta(*content, *basis, signature, *output, {{}, 8}));
  CHECK(outcome.source == outcome.sink);
  CHECK(outcome.totals.literal_bytes == 40 * k_block_bytes);
  CHECK(outcome.totals.copied_bytes == 40 * k_block_bytes);
  CHECK(signature.most_alive() <= 8);
  CHECK(signature.asked() <= 80);
}
