// SPDX-License-Identifier: Apache-2.0
// What attributes inside a file set mean, also those that somebody else put there.
#include "fs/kept_metadata.hpp"

#include "unit/fs/world.hpp"

namespace nb::fs::test {
namespace {

Xattrs meant(Xattrs xattrs) { return meant_of(Stat{}, std::move(xattrs)).meta.xattrs; }

}  // namespace

TEST_CASE("attributes kept aside are read back under their own names", "[fs][kept]") {
  CHECK(meant({{"user.a", "1"}, {"user.rsync.security.capability", "2"}, {"user.rsync.user.rsync.x", "3"}}) ==
        Xattrs{{"security.capability", "2"}, {"user.a", "1"}, {"user.rsync.x", "3"}});
}

TEST_CASE("attributes that nbackup cannot have kept are what they literally are", "[fs][kept]") {
  for (const std::string name : {"%aacl", "%dacl", "plain", ".dot", "dot."}) {
    const Xattrs foreign{{"user.rsync." + name, "v"}};
    CHECK(meant(foreign) == foreign);
  }
}

TEST_CASE("an attribute that is set and kept aside as well comes once under each name", "[fs][kept]") {
  CHECK(meant({{"user.a", "set"}, {"user.rsync.user.a", "kept"}}) ==
        Xattrs{{"user.a", "set"}, {"user.rsync.user.a", "kept"}});
}

TEMPLATE_TEST_CASE("what was meant is read back from what was kept", "[fs][kept]", PosixWorld, SimWorld) {
  TestType world;
  auto file = write(world.root(), "f", "x");
  Meant wanted;
  wanted.meta = {0640, good(file->stat()).owner, {1000, 5}, {{"user.a", "1"}, {"user.rsync.%aacl", "2"}}};
  const Kept kept = good(keep_metadata(*file, good(file->stat()), wanted, ReservedNames::escaped));
  CHECK(kept.lost.empty());
  const Meant found = meant_of(good(file->stat()), good(file->xattrs()));
  CHECK(found.meta == wanted.meta);
}

TEST_CASE("outside a set attributes with reserved names are what every program sees", "[fs][kept]") {
  const auto root = SimFileSystem(SimOptions{}).root();
  auto file = write(*root, "f", "x");
  const Stat before = good(file->stat());
  Meant wanted;
  wanted.meta = {0640, before.owner, {1000, 5}, {{"user.rsync.%stat", "100600 0,0 7:8"}, {"user.rsync.user.a", "1"}}};
  const Kept kept = good(keep_metadata(*file, before, wanted, ReservedNames::as_they_are));
  CHECK(kept.lost.empty());
  CHECK(good(file->xattrs()) == wanted.meta.xattrs);

  // What would have to be kept under such a name is lost, and told.
  wanted.type = FileType::fifo;
  CHECK(good(keep_metadata(*file, before, wanted, ReservedNames::as_they_are)).lost.size() == 1);
  CHECK(good(file->xattrs()) == wanted.meta.xattrs);
}

TEST_CASE("without attributes, what would be set is handed over to be kept elsewhere", "[fs][kept]") {
  SimOptions options;
  options.xattrs = false;
  const auto root = SimFileSystem(options).root();
  auto file = write(*root, "f", "x");
  Meant wanted;
  wanted.type = FileType::fifo;
  wanted.meta = {04640, good(file->stat()).owner, {1000, 5}, {{"user.a", "1"}}};
  const Kept kept = good(keep_metadata(*file, good(file->stat()), wanted, ReservedNames::escaped));
  CHECK_FALSE(kept.aside);
  CHECK(kept.lost.size() == kept.beside.size());
  CHECK(good(file->xattrs()).empty());
  Stat empty = good(file->stat());
  empty.size = 0;  // a placeholder
  const Meant found = meant_of(empty, kept.beside);
  CHECK(found.meta == wanted.meta);
  CHECK(found.type == FileType::fifo);
}

}  // namespace nb::fs::test
