// SPDX-License-Identifier: Apache-2.0
#include "cli/user_files.hpp"

#include <catch2/catch.hpp>

#include "unit/cli/environment.hpp"

using namespace nb::cli;

TEST_CASE("where the user's files lie follows the environment", "[cli]") {
  nb::test::Environment environment;
  environment.set("HOME", "/h");
  environment.set("XDG_CACHE_HOME", "relative");
  CHECK(memory_path().value() == "/h/.cache/nbackup/cache.db");
  CHECK(config_path().value() == "/h/.config/nbackup/config");
  environment.set("XDG_CACHE_HOME", "/x");
  environment.set("XDG_CONFIG_HOME", "/y");
  CHECK(memory_path().value() == "/x/nbackup/cache.db");
  CHECK(config_path().value() == "/y/nbackup/config");
  environment.set("NBACKUP_CACHE", "/n/c.db");
  environment.set("NBACKUP_CONFIG", "c");
  CHECK(memory_path().value() == "/n/c.db");
  CHECK(config_path().value() == "c");
}

TEST_CASE("without HOME the user database says where home is", "[cli]") {
  const nb::test::Environment nothing;
  const auto home = home_directory();
  if (home) CHECK(home->starts_with('/'));
  CHECK(config_path().has_value() == home.has_value());
}
