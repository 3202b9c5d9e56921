// SPDX-License-Identifier: Apache-2.0
#include "cli/filters.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>

using namespace nb;
using namespace nb::cli;

TEST_CASE("filter options become rules in order, files in their place", "[cli]") {
  std::string path = "/tmp/nb-filters-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  REQUIRE(descriptor >= 0);
  {
    std::ofstream file(path);
    file << "# comment\n\n; another\n*.tmp\n+ keep.tmp\n- old\nlast";
    REQUIRE(file.good());
  }
  const auto rules =
      job_filter_rules({{FilterKind::include, "/a"}, {FilterKind::exclude_from, path}, {FilterKind::exclude, "b/"}});
  ::unlink(path.c_str());
  REQUIRE(rules);
  CHECK(*rules == std::vector<std::string>{"+ /a", "- *.tmp", "+ keep.tmp", "- old", "- last", "- b/"});
}

TEST_CASE("a filter file that is not there is named", "[cli]") {
  const auto rules = job_filter_rules({{FilterKind::exclude_from, "/nowhere/rules"}});
  REQUIRE_FALSE(rules);
  CHECK(rules.error().message().find("/nowhere/rules") != std::string::npos);
}
