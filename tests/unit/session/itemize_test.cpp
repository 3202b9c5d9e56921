// SPDX-License-Identifier: Apache-2.0
#include "session/itemize.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::session;
using nb::fs::FileType;

TEST_CASE("items are rsync's", "[session]") {
  CHECK(item_new(FileType::regular, Direction::sent, false) == "<f+++++++++");
  CHECK(item_new(FileType::regular, Direction::received, true) == "hf+++++++++");
  CHECK(item_new(FileType::directory, Direction::sent, false) == "cd+++++++++");
  CHECK(item_new(FileType::symlink, Direction::sent, false) == "cL+++++++++");
  Difference d;
  d.size = d.time = true;
  CHECK(item_changed(FileType::regular, Direction::sent, d, true) == "<f.st......");
  Difference modes;
  modes.mode = modes.uid = modes.gid = modes.acl = modes.xattr = true;
  CHECK(item_changed(FileType::directory, Direction::sent, modes, false) == ".d...pog.ax");
  CHECK(item_deleted().size() == 11);
}

TEST_CASE("what differs is told apart", "[session]") {
  wire::Entry one;
  one.name = "x";
  one.size = 1;
  wire::Entry other = one;
  CHECK_FALSE(compare_entries(one, other).any());
  other.meta.xattrs = {{"system.posix_acl_access", "a"}};
  CHECK(compare_entries(one, other).acl);
  CHECK_FALSE(compare_entries(one, other).xattr);
  other.meta.xattrs = {{"user.x", "a"}};
  CHECK(compare_entries(one, other).xattr);
  other = one;
  other.link_to = RelPath().child("y");
  CHECK(compare_entries(one, other).links);
  other = one;
  other.content = hash::Digest{};
  CHECK_FALSE(compare_entries(one, other).content);
  one.content = hash::Digest{{std::byte{1}}};
  CHECK(compare_entries(one, other).content);
}
