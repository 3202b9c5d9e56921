// SPDX-License-Identifier: Apache-2.0
#include "base/rel_path.hpp"

#include <catch2/catch.hpp>

using namespace nb;

TEST_CASE("unsafe paths are refused with the caller's code", "[base]") {
  const std::string nul("a\0b", 3);
  const std::string long_name(256, 'x');
  const std::string long_path = [] {
    std::string text = "x";
    while (text.size() <= k_max_path_bytes) text += "/x";
    return text;
  }();
  for (const std::string& text :
       std::vector<std::string>{"/a", "a/", "a//b", ".", "..", "a/../b", "a/.", "../a", nul, long_name, long_path}) {
    const auto path = RelPath::parse(text, Errc::protocol);
    REQUIRE_FALSE(path.has_value());
    CHECK(path.error().code == Errc::protocol);
  }
}

TEST_CASE("odd but harmless names pass", "[base]") {
  for (const std::string& text : std::vector<std::string>{"", "a", "...", "-rf", " ", "a\nb", "\xFF\xFE",
                                                          std::string(255, 'y'), "a/b/c", "..a/b.."}) {
    CHECK(RelPath::parse(text).value().str() == text);
  }
}

TEST_CASE("parts of a path", "[base]") {
  const RelPath path = RelPath::parse("a/b/c").value();
  CHECK(path.name() == "c");
  CHECK(path.parent().str() == "a/b");
  CHECK(path.parent().parent().parent().is_root());
  CHECK(path.depth() == 3);
  CHECK(RelPath().depth() == 0);
  CHECK(RelPath().child("x").child("y").str() == "x/y");
  CHECK(RelPath().join(path) == path);
  CHECK(path.join(RelPath()) == path);
  CHECK(path.join(path).str() == "a/b/c/a/b/c");
}

TEST_CASE("being within is by component", "[base]") {
  const auto at = [](const char* text) { return RelPath::parse(text).value(); };
  CHECK(at("a/b").is_within(at("a")));
  CHECK(at("a").is_within(at("a")));
  CHECK(at("a").is_within(RelPath()));
  CHECK_FALSE(at("ab").is_within(at("a")));
  CHECK_FALSE(at("a").is_within(at("a/b")));
}
TEST_CASE("nbackup's own names are reserved as whole components", "[base]") {
  CHECK(is_reserved_name(".nbackup"));
  CHECK(is_reserved_name(".nbackup.new"));
  CHECK_FALSE(is_reserved_name(".nbackup.old"));
  CHECK(has_reserved_name("/a/.nbackup.new/b"));
  CHECK(has_reserved_name("a/.nbackup"));
  CHECK_FALSE(has_reserved_name("a/x.nbackup/.nbackups"));
  CHECK_FALSE(has_reserved_name(""));
}
