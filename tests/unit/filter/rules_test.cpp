// SPDX-License-Identifier: Apache-2.0
// Rules: how they are written, what they are held against, their order, and the errors.
#include <catch2/catch.hpp>

#include "filter/rules.hpp"

using namespace nb;
using namespace nb::filter;

namespace {

constexpr auto k_file = fs::FileType::regular;
constexpr auto k_directory = fs::FileType::directory;

RelPath path(std::string_view text) { return RelPath::parse(text).value(); }

// Whether the one exclude rule with this pattern matches.
bool excludes(std::string_view pattern, std::string_view text, fs::FileType type = k_file) {
  Rules rules;
  REQUIRE(rules.add(pattern, Verdict::exclude));
  return rules.check(path(text), type) == Verdict::exclude;
}

std::string refusal(std::string_view rule) {
  Rules rules;
  const Status status = rules.add_filter(rule);
  if (status) return "accepted";
  CHECK(status.error().code == Errc::usage);
  CHECK(rules.empty());
  return status.error().context;
}

Rules list(std::initializer_list<std::string_view> lines) {
  Rules rules;
  for (const std::string_view line : lines) REQUIRE(rules.add_filter(line));
  return rules;
}

}  // namespace

TEST_CASE("rules: patterns without a slash are held against the name", "[filter]") {
  CHECK(excludes("foo", "foo"));
  CHECK(excludes("foo", "a/b/foo"));
  CHECK_FALSE(excludes("foo", "foo/b"));
  CHECK_FALSE(excludes("foo", "xfoo"));
  CHECK(excludes("*.o", "a/b.o"));
}

TEST_CASE("rules: anchors and inner slashes", "[filter]") {
  CHECK(excludes("/foo", "foo"));
  CHECK_FALSE(excludes("/foo", "a/foo"));
  CHECK(excludes("foo/bar", "foo/bar"));
  CHECK(excludes("foo/bar", "a/foo/bar"));
  CHECK_FALSE(excludes("foo/bar", "xfoo/bar"));
  CHECK_FALSE(excludes("foo/bar", "bar"));
  CHECK(excludes("foo/*/bar", "a/foo/b/bar"));
  CHECK_FALSE(excludes("foo/*/bar", "foo/b/c/bar"));
  CHECK_FALSE(excludes("/foo/*", "a/foo/b"));
  CHECK_FALSE(excludes("/", "a"));
  CHECK_FALSE(excludes("*/*/*", "a/b"));
}

TEST_CASE("rules: a trailing slash means directories", "[filter]") {
  CHECK(excludes("foo/", "a/foo", k_directory));
  CHECK_FALSE(excludes("foo/", "a/foo"));
  CHECK_FALSE(excludes("foo/", "a/foo", fs::FileType::symlink));
  CHECK(excludes("*/", "a/b", k_directory));
}

TEST_CASE("rules: double and triple stars", "[filter]") {
  CHECK(excludes("**/foo", "foo"));
  CHECK(excludes("**/foo", "a/b/foo"));
  CHECK(excludes("/foo/**/bar", "foo/a/b/bar"));
  CHECK_FALSE(excludes("/foo/**/bar", "foo/bar"));
  CHECK(excludes("foo/**", "a/foo/b/c"));
  CHECK_FALSE(excludes("foo/**", "foo", k_directory));
  CHECK(excludes("foo/***", "a/foo", k_directory));
  CHECK_FALSE(excludes("foo/***", "a/foo"));
  CHECK(excludes("foo/***", "a/foo/b/c"));
}

TEST_CASE("rules: backslashes count only beside wildcards", "[filter]") {
  CHECK(excludes("foo\\bar", "foo\\bar"));
  CHECK_FALSE(excludes("foo\\bar*", "foo\\bar"));
  CHECK(excludes("foo\\bar*", "foobar2"));
  CHECK(excludes("foo\\\\bar*", "foo\\bar"));
}

TEST_CASE("rules: the first match decides, the root is always in", "[filter]") {
  const Rules rules = list({"+ /keep/", "+ *.c", "- *"});
  CHECK(rules.check(path("keep"), k_directory) == Verdict::include);
  CHECK(rules.check(path("keep"), k_file) == Verdict::exclude);
  CHECK(rules.check(path("keep/x.c"), k_file) == Verdict::include);
  CHECK(rules.check(path("keep/x.h"), k_file) == Verdict::exclude);
  CHECK(rules.check(RelPath(), k_directory) == Verdict::include);
  CHECK(Rules().check(path("x"), k_file) == Verdict::include);
}

TEST_CASE("rules: exact paths and names keep their place among the others", "[filter]") {
  const Rules rules = list({"- /a/b/", "+ /a/b", "- *.o", "+ /x.o", "+ name", "- /deep/name", "- nam?", "- /a/*"});
  const auto is_in = [&](const char* name, fs::FileType type = k_file) {
    return rules.check(path(name), type) == Verdict::include;
  };
  CHECK_FALSE(is_in("a/b", k_directory));
  CHECK(is_in("a/b"));
  CHECK_FALSE(is_in("a/c"));
  CHECK_FALSE(is_in("x.o"));
  CHECK(is_in("name"));
  CHECK(is_in("deep/name"));
  CHECK_FALSE(is_in("deep/nams"));
  CHECK(is_in("b"));
}

TEST_CASE("rules: prefixes, bare patterns and clearing", "[filter]") {
  Rules rules;
  REQUIRE(rules.add("x", Verdict::include));
  REQUIRE(rules.add("- x", Verdict::include));
  REQUIRE(rules.add("+ y", Verdict::exclude));
  REQUIRE(rules.add("- - z", Verdict::exclude));
  REQUIRE(rules.add("-", Verdict::exclude));
  REQUIRE(rules.add(". x", Verdict::exclude));
  REQUIRE(rules.add("", Verdict::exclude));
  CHECK(rules.encoded() == std::vector<std::string>{"+ x", "- x", "+ y", "- - z", "- -", "- . x"});
  REQUIRE(rules.add("!x", Verdict::exclude));
  CHECK(rules.encoded().back() == "- !x");
  REQUIRE(rules.add("!", Verdict::exclude));
  CHECK(rules.empty());
  CHECK(rules.encoded().empty());
}

TEST_CASE("rules: what was encoded builds the same list", "[filter]") {
  Rules rules;
  for (const char* rule : {"*.o", "+ + x", "- !", "#x", " y ", "/a/***", "[", "\xFF"}) {
    REQUIRE(rules.add(rule, Verdict::exclude));
  }
  Rules again;
  for (const std::string& rule : rules.encoded()) REQUIRE(again.add_filter(rule));
  CHECK(again.encoded() == rules.encoded());
}

TEST_CASE("rules: --filter has more spellings", "[filter]") {
  CHECK(list({"-_*.o", "exclude a b", "include_c", "+ _d"}).encoded() ==
        std::vector<std::string>{"- *.o", "- a b", "+ c", "+ _d"});
  CHECK(list({"- a", "!"}).empty());
  CHECK(list({"- a", "clear"}).empty());
}

TEST_CASE("rules: what is not supported is named", "[filter]") {
  CHECK(refusal(". /etc/x") == "filter rule '. /etc/x': 'merge' rules are not supported by this version");
  CHECK(refusal("merge x") == "filter rule 'merge x': 'merge' rules are not supported by this version");
  CHECK(refusal(":C") == "filter rule ':C': 'dir-merge' rules are not supported by this version");
  CHECK(refusal("P x") == "filter rule 'P x': 'protect' rules are not supported by this version");
  CHECK(refusal("hide x") == "filter rule 'hide x': 'hide' rules are not supported by this version");
  CHECK(refusal("-s x") == "filter rule '-s x': modifiers of rules are not supported by this version");
  CHECK(refusal("+,! x") == "filter rule '+,! x': modifiers of rules are not supported by this version");
  CHECK(refusal("exclude,! x") == "filter rule 'exclude,! x': modifiers of rules are not supported by this version");
  CHECK(refusal("*.o") == "filter rule '*.o': expected '- PATTERN' or '+ PATTERN'");
  CHECK(refusal("") == "filter rule '': expected '- PATTERN' or '+ PATTERN'");
  CHECK(refusal("- ") == "filter rule '- ': pattern missing");
  CHECK(refusal("+") == "filter rule '+': pattern missing");
  CHECK(refusal("! x") == "filter rule '! x': '!' takes nothing after it");
}

TEST_CASE("rules: limits of a pattern", "[filter]") {
  Rules rules;
  CHECK(rules.add(std::string(k_max_pattern_bytes, '*'), Verdict::exclude));
  const Status status = rules.add(std::string(k_max_pattern_bytes + 1, 'x'), Verdict::exclude);
  REQUIRE_FALSE(status);
  CHECK(status.error().context == "filter rule '" + std::string(200, 'x') + "...': pattern too long");
  CHECK_FALSE(rules.add(std::string("a\0b", 3), Verdict::exclude));
  CHECK_FALSE(rules.add("- ", Verdict::exclude));
}

TEST_CASE("rules: files", "[filter]") {
  Rules rules;
  REQUIRE(rules.add_file("# comment\n; too\n\n*.o\r\n+ keep \n - x\n#\n", Verdict::exclude));
  CHECK(rules.encoded() == std::vector<std::string>{"- *.o", "+ keep ", "-  - x"});
  REQUIRE(rules.add_file("!\nx", Verdict::include));
  CHECK(rules.encoded() == std::vector<std::string>{"+ x"});
  const Status status = rules.add_file("a\n\n- \n", Verdict::exclude);
  REQUIRE_FALSE(status);
  CHECK(status.error().code == Errc::usage);
  CHECK(status.error().context == "line 3: filter rule '- ': pattern missing");
}
