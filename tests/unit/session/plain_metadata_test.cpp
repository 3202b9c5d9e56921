// SPDX-License-Identifier: Apache-2.0
// The short way of giving a new file its metadata: what it calls done is what the file system says afterwards.
#include <unistd.h>

#include <catch2/catch.hpp>

#include "fs/posix_directory.hpp"
#include "session/plain_metadata.hpp"
#include "support/temp_dir.hpp"

using namespace nb;
using namespace nb::test;

namespace {

struct Rig {
  TempDir dir;
  std::unique_ptr<fs::Directory> at = fs::open_user_directory(dir.path()).value();
  session::PlainMetadata plain;
  int made = 0;

  std::unique_ptr<fs::File> create() { return at->create_file("file" + std::to_string(made++)).value(); }
  static fs::Metadata meta(std::uint32_t mode, fs::Timestamp mtime) {
    return {mode, {::geteuid(), ::getegid()}, mtime, {}};
  }
};

}  // namespace

TEST_CASE("plain metadata is there afterwards, the first time and when nothing is asked any more", "[session]") {
  Rig rig;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto file = rig.create();
    REQUIRE(file->made_as());
    CHECK(file->made_as()->inode == file->stat()->inode);
    CHECK(file->made_as()->mode == 0600);
    const fs::Metadata wanted = Rig::meta(i < 2 ? 0644 : 0400, {1'600'000'000 + i, 123'456'789 + i});
    REQUIRE(rig.plain.give(*file, *file->made_as(), wanted));
    const fs::Stat now = *file->stat();
    CHECK(fs::Metadata{now.mode, now.owner, now.mtime, {}} == wanted);
  }
}

TEST_CASE("what is out of the ordinary is left to the long way", "[session]") {
  Rig rig;
  const auto file = rig.create();
  const fs::Stat made = *file->made_as();
  CHECK_FALSE(rig.plain.give(*file, made, Rig::meta(04755, {1'600'000'000, 1})));
  CHECK_FALSE(rig.plain.give(*file, made, Rig::meta(0644, {-1, 5})));
  CHECK_FALSE(rig.plain.give(*file, made, Rig::meta(0644, {std::int64_t{1} << 31, 5})));
  fs::Metadata with_attribute = Rig::meta(0644, {1'600'000'000, 1});
  with_attribute.xattrs = {{"user.x", "y"}};
  CHECK_FALSE(rig.plain.give(*file, made, with_attribute));
  if (::geteuid() != 0) CHECK_FALSE(rig.plain.give(*file, made, Rig::meta(0200, {1'600'000'000, 1})));
}

TEST_CASE("a file that was opened does not say how it was made", "[session]") {
  Rig rig;
  rig.create();
  CHECK_FALSE(rig.at->open_file("file0", fs::OpenMode::read).value()->made_as());
}
