// SPDX-License-Identifier: Apache-2.0
#include "cli/pool_path.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;

namespace {

PoolPath parsed(std::string_view text) {
  INFO(text);
  const auto pool = parse_pool_path(text);
  REQUIRE(pool);
  CHECK(pool->place.trailing_slash == ssh::TrailingSlash::absent);
  return *pool;
}

void check(std::string_view text, std::string_view place, std::string_view path, bool content) {
  INFO(text);
  const PoolPath pool = parsed(text);
  CHECK(pool.place.path == place);
  CHECK(pool.path.str() == path);
  CHECK((pool.trailing_slash == ssh::TrailingSlash::present) == content);
}

Errc refused(std::string_view text) {
  INFO(text);
  const auto pool = parse_pool_path(text);
  REQUIRE_FALSE(pool);
  return pool.error().code;
}

}  // namespace

TEST_CASE("pool path: without a colon it is the whole set", "[cli]") {
  check("/pool", "/pool", "", true);
  check("/pool/", "/pool", "", true);
  check("pool/./", "pool", "", true);
  check("/", "/", "", true);
  check(".", ".", "", true);
  CHECK(parsed("/pool").place.is_local());
}

TEST_CASE("pool path: the colon ends the pool", "[cli]") {
  check("/pool:home/me", "/pool", "home/me", false);
  check("/pool:home/me/", "/pool", "home/me", true);
  check("/pool:/home", "/pool", "home", false);
  check("/pool:", "/pool", "", true);
  check("/pool:.", "/pool", "", true);
  check("/pool/:home//./me/.", "/pool", "home/me", true);
  check("./pool:x", "./pool", "x", false);
  check("/:etc", "/", "etc", false);
  check("/pool:a:b", "/pool", "a:b", false);
  check("/pool::a", "/pool", ":a", false);
  // What is in a set may be called what a host cannot.
  check("/pool:-x", "/pool", "-x", false);
}

TEST_CASE("pool path: a slash before the colon lets every name be said", "[cli]") {
  check("/a:b/:c:d", "/a:b", "c:d", false);
  check("/a:b/:", "/a:b", "", true);
  check("/pool/:a/:b", "/pool", "a/:b", false);
}

TEST_CASE("pool path: on a host", "[cli]") {
  check("h:/pool:home", "/pool", "home", false);
  CHECK(parsed("me@h:/pool:home").place.host == ssh::Host{"h", "me", std::nullopt});
  check("h:pool:home", "pool", "home", false);
  check("h:", ".", "", true);
  check("h:.:home", ".", "home", false);
  check("h:~/pool:home", "pool", "home", false);
  check("[::1]:/pool:home/", "/pool", "home", true);
  CHECK(parsed("[::1]:/pool:home").place.host->name == "::1");
  check("ssh://me@h:2222/pool:home", "/pool", "home", false);
  CHECK(parsed("ssh://me@h:2222/pool:home").place.host == ssh::Host{"h", "me", 2222});
  check("ssh://h/~/pool:home", "pool", "home", false);
}

TEST_CASE("pool path: what leads nowhere is refused", "[cli]") {
  CHECK(refused("") == Errc::usage);
  CHECK(refused("/pool:a/../b") == Errc::path);
  CHECK(refused("/pool:..") == Errc::path);
  CHECK(refused("/pool:.nbackup/history") == Errc::path);
  CHECK(refused("/pool:" + std::string(256, 'n')) == Errc::path);
  CHECK(refused("h::pool") == Errc::unsupported);
  CHECK(refused(std::string_view("/pool:a\0b", 9)) == Errc::path);
}

TEST_CASE("pool path: what is displayed is parsed to the same", "[cli]") {
  for (const std::string_view text :
       {"/pool", "/pool:home/me", "/pool:home/", "/:etc", "/a:b/:c", "/a:b/:", "h:pool:x", "/pool/:a/:b",
        "me@h:/pool:x", "ssh://h:22/pool:x", "ssh://h:22/~/pool:x", "[::1]:/pool:x", "h:.:x", "h/:a", "./:a", "h"}) {
    const PoolPath pool = parsed(text);
    INFO(pool.display());
    CHECK(parsed(pool.display()) == pool);
  }
  CHECK(parsed("/pool/:home//me").display() == "/pool:home/me");
}
