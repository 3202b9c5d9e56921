// SPDX-License-Identifier: Apache-2.0
// The record of a taken file comes back as it was; a damaged one is refused.
#include "session/taken_file.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::session;

namespace {

RelPath path(const char* text) { return RelPath::parse(text).value(); }

TakenFile sample() {
  TakenFile taken;
  taken.file.path = path("new/name");
  taken.file.spot = {7, true, path("below"), "name"};
  taken.file.replaced = txn::Ident{fs::FileType::symlink, 5, 0, {}};
  taken.file.shared = true;
  taken.file.meta.mode = 0640;
  taken.file.meta.xattrs = {{"user.x", "y"}};
  taken.file.size = 1 << 20;
  taken.digest.bytes[3] = std::byte{9};
  taken.from = path("old/name");
  taken.state.size = taken.file.size;
  taken.state.inode = 99;
  taken.state.mtime = {-1, 5};
  taken.state.ctime = {1'700'000'000, 999'999'999};
  taken.is_alike = true;
  return taken;
}

}  // namespace

TEST_CASE("a taken file comes back from its record", "[session]") {
  TakenFile taken = sample();
  SECTION("in a tree") {}
  SECTION("with a slot of its own") {
    taken.file.spot = {8, false, {}, {}};
    taken.file.in_live = true;
    taken.file.shared = false;
    taken.file.replaced.reset();
    taken.is_alike = false;
  }
  const auto back = decode_taken_file(encode(taken));
  REQUIRE(back.has_value());
  CHECK(back->file.path == taken.file.path);
  CHECK(back->file.spot.slot == taken.file.spot.slot);
  CHECK(back->file.spot.in_tree == taken.file.spot.in_tree);
  CHECK(back->file.spot.below == taken.file.spot.below);
  CHECK(back->file.spot.name == taken.file.spot.name);
  CHECK(back->file.in_live == taken.file.in_live);
  CHECK(back->file.shared == taken.file.shared);
  CHECK(back->file.replaced == taken.file.replaced);
  CHECK(back->file.meta == taken.file.meta);
  CHECK(back->file.size == taken.file.size);
  CHECK(back->digest == taken.digest);
  CHECK(back->from == taken.from);
  CHECK(back->is_alike == taken.is_alike);
  CHECK(fs::is_same_state(back->state, taken.state));
}

TEST_CASE("a record that was cut off is refused at every length", "[session]") {
  const Bytes whole = encode(sample());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = decode_taken_file(ByteView(whole).first(size));
    REQUIRE_FALSE(cut.has_value());
    CHECK(cut.error().code == Errc::bad_set);
  }
}
