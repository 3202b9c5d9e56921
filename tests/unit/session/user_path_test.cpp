// SPDX-License-Identifier: Apache-2.0
#include "session/user_path.hpp"

#include <catch2/catch.hpp>
#include <filesystem>

#include "unit/session/rig.hpp"

using namespace nb;
using namespace nb::session;
using namespace nb::test;
namespace stdfs = std::filesystem;

TEST_CASE("sources: the last component, or the content", "[session]") {
  TempDir dir;
  put(dir.path("d/f"), "x");
  const std::string real = stdfs::canonical(dir.path("d"));
  CHECK(resolve_source(dir.path("d/f"), {})->directory == real);
  CHECK(resolve_source(dir.path("d/f"), {})->name == "f");
  for (const char* content : {"d/", "d/.", "d//"}) {
    CHECK(resolve_source(dir.path(content), {})->directory == real);
    CHECK_FALSE(resolve_source(dir.path(content), {})->name.has_value());
  }
  CHECK_FALSE(resolve_source(dir.path("d/.."), {})->name.has_value());
  CHECK(resolve_source("/", {})->directory == "/");
  CHECK(resolve_source(dir.path("none/f"), {}).error().code == Errc::not_found);
}

TEST_CASE("targets: an existing directory, a new one, or a new name", "[session]") {
  TempDir dir;
  put(dir.path("d/f"), "x");
  const std::string real = stdfs::canonical(dir.path("d"));
  using enum SourceShape;
  CHECK(resolve_target(dir.path("d"), tree, {})->directory == real);
  CHECK_FALSE(resolve_target(dir.path("d"), tree, {})->missing.has_value());
  CHECK(resolve_target(dir.path("d/f"), single_file, {})->new_name == "f");
  CHECK(resolve_target(dir.path("d/g"), single_file, {})->new_name == "g");
  CHECK(resolve_target(dir.path("d/f"), tree, {}).error().code == Errc::path);
  CHECK(resolve_target(dir.path("d/f/"), single_file, {}).error().code == Errc::path);
  CHECK(resolve_target(dir.path("d/n"), tree, {})->missing == "n");
  CHECK(resolve_target(dir.path("d/n/"), single_file, {})->missing == "n");
  CHECK(resolve_target(dir.path("d/n"), tree, {})->directory == real + "/n");
  CHECK_FALSE(stdfs::exists(dir.path("d/n")));
  CHECK_FALSE(resolve_target(dir.path("no/such/parent"), tree, {}).has_value());
  CHECK(resolve_target(dir.path("d/.nbackup"), single_file, {}).error().code == Errc::path);
}

TEST_CASE("what belongs to a file set is neither a source nor a destination", "[session]") {
  TempDir dir;
  put(dir.path("d/.nbackup/tx/f"), "x");
  put(dir.path("d/.nbackup.new/f"), "x");
  for (const char* path : {"d/.nbackup", "d/.nbackup/", "d/.nbackup/tx/f", "d/.nbackup.new", "d/.nbackup.new/f"}) {
    CHECK(resolve_source(dir.path(path), {}).error().code == Errc::path);
    CHECK(resolve_target(dir.path(path), SourceShape::single_file, {}).error().code == Errc::path);
  }
  CHECK(resolve_target(dir.path("d/.nbackup/new"), SourceShape::tree, {}).error().code == Errc::path);
}

TEST_CASE("the control directory is known in any case of letters", "[session]") {
  TempDir dir;
  put(dir.path("d/.NBackup/tx/f"), "x");
  put(dir.path("d/.nbackups/f"), "x");
  for (const char* path : {"d/.NBackup", "d/.NBackup/", "d/.NBackup/tx/f", "d/.NBACKUP.NEW"}) {
    CHECK(resolve_source(dir.path(path), {}).error().code == Errc::path);
    CHECK(resolve_target(dir.path(path), SourceShape::single_file, {}).error().code == Errc::path);
  }
  CHECK(resolve_source(dir.path("d/.nbackups/"), {}).has_value());
}

TEST_CASE("a directory that was found stays the one that is used", "[session]") {
  TempDir dir;
  put(dir.path("outside/f"), "x");
  put(dir.path("root/d/f"), "x");
  const std::optional<std::string> root = dir.path("root");
  const auto source = resolve_source("d/", root);
  const auto target = resolve_target("d", SourceShape::tree, root);
  REQUIRE(source);
  REQUIRE(target);
  // What somebody with a second key could do in between.
  stdfs::rename(dir.path("root/d"), dir.path("root/moved"));
  stdfs::create_directory_symlink(dir.path("outside"), dir.path("root/d"));
  REQUIRE(target->handle->create_file("made"));
  CHECK(stdfs::exists(dir.path("root/moved/made")));
  CHECK_FALSE(stdfs::exists(dir.path("outside/made")));
  CHECK(source->handle->stat_at("made"));
  CHECK(resolve_source("d/", root).error().code == Errc::path);
  CHECK(resolve_target("d", SourceShape::tree, root).error().code == Errc::path);
  CHECK(resolve_target("d/new", SourceShape::tree, root).error().code == Errc::path);
  CHECK_FALSE(stdfs::exists(dir.path("outside/new")));
}

TEST_CASE("a new directory is made where it was asked for and not where a symlink leads", "[session]") {
  TempDir dir;
  stdfs::create_directories(dir.path("root"));
  stdfs::create_directory_symlink(dir.path("outside"), dir.path("root/dangling"));
  const std::optional<std::string> root = dir.path("root");
  CHECK_FALSE(resolve_target("dangling", SourceShape::tree, root).has_value());
  CHECK_FALSE(stdfs::exists(dir.path("outside")));
}

TEST_CASE("the root of a confined server has several names", "[session]") {
  TempDir dir;
  put(dir.path("real/d/f"), "x");
  stdfs::create_directory_symlink("real", dir.path("alias"));
  const std::optional<std::string> root = dir.path("real");
  const std::string real = stdfs::canonical(dir.path("real"));
  for (const char* content : {"real/d/", "alias/d/"}) {
    CHECK(resolve_source(dir.path(content), root)->directory == real + "/d");
  }
  CHECK(resolve_source("", root)->directory == real);
  CHECK(resolve_source(dir.path("real"), root)->name == "real");
  CHECK(resolve_source(dir.path("real/.."), root).error().code == Errc::path);
  CHECK(resolve_target(dir.path("alias/d"), SourceShape::tree, root)->directory == real + "/d");
}
