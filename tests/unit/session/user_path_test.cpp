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
  using enum MissingDirectory;
  CHECK(resolve_target(dir.path("d"), tree, make, {})->directory == real);
  CHECK(resolve_target(dir.path("d/f"), single_file, make, {})->new_name == "f");
  CHECK(resolve_target(dir.path("d/g"), single_file, make, {})->new_name == "g");
  CHECK(resolve_target(dir.path("d/f"), tree, make, {}).error().code == Errc::path);
  CHECK(resolve_target(dir.path("d/f/"), single_file, make, {}).error().code == Errc::path);
  CHECK_FALSE(resolve_target(dir.path("d/n"), tree, leave, {})->exists);
  CHECK_FALSE(stdfs::exists(dir.path("d/n")));
  CHECK(resolve_target(dir.path("d/n"), tree, make, {})->directory == real + "/n");
  CHECK(stdfs::is_directory(dir.path("d/n")));
  CHECK_FALSE(resolve_target(dir.path("no/such/parent"), tree, make, {}).has_value());
  CHECK(resolve_target(dir.path("d/.nbackup"), single_file, make, {}).error().code == Errc::path);
}
