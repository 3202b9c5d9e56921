// SPDX-License-Identifier: Apache-2.0
// Path strings from outside, confined and not.
#include "fs/path_root.hpp"

#include <filesystem>

#include "unit/fs/world.hpp"

namespace nb::fs::test {
namespace {

namespace stdfs = std::filesystem;
using nb::test::TempDir;

PathRoot confined(const TempDir& temp) { return good(PathRoot::open(temp.path("root"))); }

}  // namespace

TEST_CASE("a confined path may follow symlinks that stay inside", "[fs][path_root]") {
  TempDir temp;
  stdfs::create_directories(temp.path("root/a/b"));
  stdfs::create_directories(temp.path("outside"));
  stdfs::create_directory_symlink("a/b", temp.path("root/inside"));
  stdfs::create_directory_symlink("../a", temp.path("root/a/up"));
  stdfs::create_directory_symlink("../outside", temp.path("root/out"));
  stdfs::create_directory_symlink(temp.path("outside"), temp.path("root/absolute"));
  stdfs::create_directory_symlink("/proc/self/root" + temp.path("outside"), temp.path("root/magic"));
  const PathRoot root = confined(temp);
  const std::string real = stdfs::canonical(temp.path("root"));
  CHECK(good(real_path_of(*good(root.open_directory("inside")))) == real + "/a/b");
  CHECK(good(real_path_of(*good(root.open_directory("a/up/b/..")))) == real + "/a");
  CHECK(good(real_path_of(*good(root.open_directory(temp.path("root/a"))))) == real + "/a");
  for (const char* path : {"out", "absolute", "magic", "..", "a/../..", "/", "/proc/self/root"}) {
    CAPTURE(path);
    CHECK(code(root.open_directory(path)) == Errc::path);
    CHECK(code(root.stat(path)) == Errc::path);
  }
  CHECK(code(root.open_directory("none")) == Errc::not_found);
  CHECK(code(root.open_directory(temp.path("outside"))) == Errc::path);
  CHECK(code(root.open_directory(temp.path("rootless"))) == Errc::path);
}

TEST_CASE("the way up ends at the confining directory, and else at the root of all", "[fs][path_root]") {
  TempDir temp;
  stdfs::create_directories(temp.path("root/a/b"));
  const PathRoot root = confined(temp);
  auto at = good(root.open_directory("a/b"));
  int steps = 0;
  while (auto up = good(root.parent_of(*at))) {
    at = std::move(up);
    ++steps;
  }
  CHECK(steps == 2);
  CHECK(good(at->stat()).inode == good(root.stat("")).inode);
  const PathRoot anywhere = good(PathRoot::open(std::nullopt));
  while (auto up = good(anywhere.parent_of(*at))) at = std::move(up);
  CHECK(good(real_path_of(*at)) == "/");
}

TEST_CASE("a directory is made in the parent that is held", "[fs][path_root]") {
  TempDir temp;
  stdfs::create_directories(temp.path("root/a"));
  const PathRoot root = confined(temp);
  const auto parent = good(root.open_directory("a"));
  good(PathRoot::make_directory(*parent, "new"));
  good(PathRoot::make_directory(*parent, "new"));
  CHECK(stdfs::is_directory(temp.path("root/a/new")));
  stdfs::create_directory_symlink("..", temp.path("root/a/link"));
  CHECK(code(PathRoot::make_directory(*parent, "link")) == Errc::path);
}

}  // namespace nb::fs::test
