// SPDX-License-Identifier: Apache-2.0
#include "session/name_pattern.hpp"

#include <catch2/catch.hpp>

#include "session/asked_names.hpp"

using nb::session::AskedNames;
using nb::session::NamePattern;

TEST_CASE("name patterns: what is one", "[session]") {
  for (const char* text : {"*", "a?", "[ab]", "a*b"}) CHECK(NamePattern::is_pattern(text));
  for (const char* text : {"", "a", "a]", "a\\b", "{a,b}"}) CHECK_FALSE(NamePattern::is_pattern(text));
  CHECK_FALSE(NamePattern::is_pattern(std::string(256, '*')));
}

TEST_CASE("name patterns: as the shell has them", "[session]") {
  const auto matches = [](std::string_view pattern, std::string_view name) {
    return NamePattern(pattern).matches(name);
  };
  CHECK(matches("*.txt", "a.txt"));
  CHECK(matches("?", "a"));
  CHECK(matches("[a-c]x", "bx"));
  CHECK(matches("\\*?", "*a"));
  CHECK_FALSE(matches("\\*?", "aa"));
  CHECK_FALSE(matches("*.txt", "a.txtx"));
  CHECK_FALSE(matches("[a-c]x", "dx"));
  CHECK_FALSE(matches("[a", "[a"));
  // Hidden names are meant only if that is said.
  CHECK_FALSE(matches("*", ".ssh"));
  CHECK_FALSE(matches("?ssh", ".ssh"));
  CHECK_FALSE(matches("[.]ssh", ".ssh"));
  CHECK(matches(".*", ".ssh"));
  CHECK(matches("\\.s*", ".ssh"));
}

TEST_CASE("asked names: nothing else may come", "[session]") {
  AskedNames live;
  live.add("a*");
  CHECK(live.contains("a*"));
  CHECK_FALSE(live.contains("ab"));
  AskedNames past;
  past.add_past("a*");
  past.add_past("b");
  CHECK(past.contains("a*"));
  CHECK(past.contains("ab"));
  CHECK(past.contains("b"));
  CHECK_FALSE(past.contains("c"));
  past.add_past("*");
  CHECK(past.contains("c"));
  CHECK_FALSE(past.contains(".bashrc"));
}
