// SPDX-License-Identifier: Apache-2.0
#include "ssh/host_pattern.hpp"

#include <catch2/catch.hpp>
#include <vector>

namespace nb::test {
namespace {

bool matches(std::vector<std::string_view> patterns, std::string_view name) { return ssh::matches_any(patterns, name); }

}  // namespace

TEST_CASE("a list of patterns matches where one does and none that is negated", "[ssh]") {
  CHECK(matches({"rpi4"}, "rpi4"));
  CHECK(matches({"RPI4"}, "rpi4"));
  CHECK(matches({"a", "*"}, ""));
  CHECK(matches({"*.example.org"}, "a.b.Example.ORG"));
  CHECK(matches({"n?s-*"}, "nas-"));
  CHECK(matches({"*a*b*"}, "xxaxbxb"));
  CHECK(matches({"2001:db8::*"}, "2001:db8::1"));
  CHECK_FALSE(matches({}, "rpi4"));
  CHECK_FALSE(matches({"rpi"}, "rpi4"));
  CHECK_FALSE(matches({"?"}, ""));
  CHECK_FALSE(matches({"*a*b"}, "xxbxa"));
  CHECK_FALSE(matches({"*", "!nas-old"}, "nas-old"));
  CHECK_FALSE(matches({"!nas-old", "nas-*"}, "NAS-OLD"));
  CHECK_FALSE(matches({"!x"}, "y"));
}

}  // namespace nb::test
