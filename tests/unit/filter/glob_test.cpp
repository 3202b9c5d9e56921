// SPDX-License-Identifier: Apache-2.0
// Wildcards by themselves: stars, classes, escapes, and time that does not explode.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>

#include "filter/glob.hpp"

using namespace nb::filter;

namespace {

bool matches(std::string_view pattern, std::string_view text) {
  return Glob(pattern, Wildcards::active).matches("", text, "", Starts::at_begin);
}

}  // namespace

TEST_CASE("glob: stars and question marks", "[filter]") {
  CHECK(matches("*", ""));
  CHECK(matches("*.o", "x.o"));
  CHECK(matches("*.o", ".o"));
  CHECK_FALSE(matches("*.o", "x.oo"));
  CHECK_FALSE(matches("*", "a/b"));
  CHECK(matches("**", "a/b"));
  CHECK(matches("a/**/b", "a/x/y/b"));
  CHECK_FALSE(matches("a/**/b", "a/b"));
  CHECK(matches("a*b*c", "aXbYbZc"));
  CHECK_FALSE(matches("a*b*c", "aX/bYc"));
  CHECK(matches("?", "x"));
  CHECK_FALSE(matches("?", ""));
  CHECK_FALSE(matches("?", "/"));
  CHECK(matches("a?c",
                "a\xFF"
                "c"));
}

TEST_CASE("glob: classes", "[filter]") {
  CHECK(matches("[abc]", "b"));
  CHECK_FALSE(matches("[abc]", "d"));
  CHECK(matches("[a-c]x", "bx"));
  CHECK(matches("[!a-c]", "d"));
  CHECK(matches("[^a-c]", "d"));
  CHECK_FALSE(matches("[!a-c]", "b"));
  CHECK_FALSE(matches("[!a]", "/"));
  CHECK(matches("[]]", "]"));
  CHECK(matches("[!]]", "x"));
  CHECK_FALSE(matches("[!]]", "]"));
  CHECK(matches("[a-]", "-"));
  CHECK(matches("[-a]", "-"));
  CHECK(matches("[\\]a]", "]"));
  CHECK(matches("[\\a-\\c]", "b"));
  CHECK(matches("[[:alpha:]]", "q"));
  CHECK_FALSE(matches("[[:alpha:]]", "1"));
  CHECK(matches("[[:digit:][:upper:]]", "Q"));
  CHECK(matches("[![:digit:]]", "x"));
  CHECK(matches("[[:x]", ":"));
  CHECK(matches("[\x80-\xFF]", "\xC3"));
}

TEST_CASE("glob: malformed classes match nothing", "[filter]") {
  for (const char* pattern : {"[", "[a", "[]", "[!", "[!]", "[[:foo:]]", "[[:alpha", "[a-", "[\\", "x\\"}) {
    INFO(pattern);
    for (const char* text : {"", "a", "[", "]", "[a", "x", "x\\", "\\"}) CHECK_FALSE(matches(pattern, text));
  }
}

TEST_CASE("glob: escapes", "[filter]") {
  CHECK(matches("\\*", "*"));
  CHECK_FALSE(matches("\\*", "x"));
  CHECK(matches("a\\b*", "abc"));
  CHECK(matches("a\\\\*", "a\\c"));
  const Glob literal("a\\*[", Wildcards::literal);
  CHECK(literal.matches("", "a\\*[", "", Starts::at_begin));
  CHECK_FALSE(literal.matches("", "a*[", "", Starts::at_begin));
}

TEST_CASE("glob: starts at every component where asked to", "[filter]") {
  const Glob glob("b/**", Wildcards::active);
  CHECK(glob.matches("", "a/b/c", "", Starts::at_every_component));
  CHECK(glob.matches("", "b/c", "", Starts::at_every_component));
  CHECK_FALSE(glob.matches("", "ab/c", "", Starts::at_every_component));
  CHECK_FALSE(glob.matches("", "a/b/c", "", Starts::at_begin));
  CHECK(glob.matches("", "a/b", "/", Starts::at_every_component));
}

TEST_CASE("glob: many stars take no exponential time", "[filter]") {
  std::string pattern;
  while (pattern.size() + 4 <= k_max_pattern_bytes) pattern += "**a";
  const std::string text(4000, 'a');
  const auto begin = std::chrono::steady_clock::now();
  CHECK(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*", text));
  CHECK_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
  CHECK_FALSE(matches(pattern + "b", text));
  // A sanitized build on a busy machine needs about a second; backtracking would not end within a lifetime.
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(60));
}
