// SPDX-License-Identifier: Apache-2.0
#include "ssh/destination.hpp"

#include <catch2/catch.hpp>

namespace nb::ssh {
namespace {

constexpr auto k_absent = TrailingSlash::absent;
constexpr auto k_present = TrailingSlash::present;

Host host(std::string name, std::optional<std::string> user = {}, std::optional<std::uint16_t> port = {}) {
  return {std::move(name), std::move(user), port};
}

struct Case {
  const char* text;
  std::optional<Host> where;
  const char* path;
  TrailingSlash slash;
};

}  // namespace

TEST_CASE("locations are read as rsync reads them", "[ssh]") {
  const std::vector<Case> cases{
      {"/data", {}, "/data", k_absent},
      {"/data/", {}, "/data", k_present},
      {"data//", {}, "data", k_present},
      {"/", {}, "/", k_present},
      {"//", {}, "/", k_present},
      {".", {}, ".", k_present},
      {"./", {}, ".", k_present},
      {"a/.", {}, "a", k_present},
      {"a/./", {}, "a", k_present},
      {"a/..", {}, "a/..", k_present},
      {"..", {}, "..", k_present},
      {"a..", {}, "a..", k_absent},
      {"./a:b", {}, "./a:b", k_absent},
      {"/x/a:b", {}, "/x/a:b", k_absent},
      {"[a]/b:c", {}, "[a]/b:c", k_absent},
      {"a\nb", {}, "a\nb", k_absent},
      {"-x", {}, "-x", k_absent},
      {"host:path", host("host"), "path", k_absent},
      {"host:/pool/data", host("host"), "/pool/data", k_absent},
      {"host:/", host("host"), "/", k_present},
      {"host:", host("host"), ".", k_present},
      {"host:a:b", host("host"), "a:b", k_absent},
      {"host:a/", host("host"), "a", k_present},
      {"host:~/a b", host("host"), "a b", k_absent},
      {"host:~", host("host"), ".", k_present},
      {"host:~/", host("host"), ".", k_present},
      {"host:./~x", host("host"), "./~x", k_absent},
      {"user@host:p", host("host", "user"), "p", k_absent},
      {"me@mail.org@host:p", host("host", "me@mail.org"), "p", k_absent},
      {"[::1]:p", host("::1"), "p", k_absent},
      {"u@[fe80::1%eth0]:/p", host("fe80::1%eth0", "u"), "/p", k_absent},
      {"ssh://host/p/q", host("host"), "/p/q", k_absent},
      {"SSH://host/p", host("host"), "/p", k_absent},
      {"ssh://host", host("host"), ".", k_present},
      {"ssh://host/", host("host"), "/", k_present},
      {"ssh://host/~/p", host("host"), "p", k_absent},
      {"ssh://u@host:2222/p/", host("host", "u", std::uint16_t{2222}), "/p", k_present},
      {"ssh://[::1]:22/p", host("::1", {}, std::uint16_t{22}), "/p", k_absent},
      {"ssh://u@[::1]/p", host("::1", "u"), "/p", k_absent},
      {"ssh://host/a%20b", host("host"), "/a%20b", k_absent},
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    const auto found = parse_location(c.text);
    REQUIRE(found.has_value());
    CHECK(found->host == c.where);
    CHECK(found->path == c.path);
    CHECK(found->trailing_slash == c.slash);
  }
}

TEST_CASE("what cannot be a location is refused with a code", "[ssh]") {
  const std::vector<std::pair<std::string, Errc>> cases{
      {"", Errc::usage},
      {":p", Errc::usage},
      {"@host:p", Errc::usage},
      {"user@:p", Errc::usage},
      {"-oProxyCommand=x:p", Errc::usage},
      {"-l@host:p", Errc::usage},
      {"a b:p", Errc::usage},
      {"a;b:p", Errc::usage},
      {"a$(x):p", Errc::usage},
      {"[]:p", Errc::usage},
      {"ssh://user:password@host/p", Errc::usage},
      {"user@[:]/p", Errc::usage},
      {"ssh://", Errc::usage},
      {"ssh:///p", Errc::usage},
      {"ssh://host:/p", Errc::usage},
      {"ssh://host:0/p", Errc::usage},
      {"ssh://host:65536/p", Errc::usage},
      {"ssh://host:2x/p", Errc::usage},
      {"ssh://[::1]x/p", Errc::usage},
      {std::string("host:a\0b", 8), Errc::path},
      {std::string("a\0b", 3), Errc::path},
      {"host::module", Errc::unsupported},
      {"[::1]::module", Errc::unsupported},
      {"rsync://host/module", Errc::unsupported},
      {"RSYNC://host/module", Errc::unsupported},
      {"host:~other/p", Errc::unsupported},
  };
  for (const auto& [text, code] : cases) {
    CAPTURE(text);
    const auto found = parse_location(text);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().code == code);
  }
  CHECK(parse_location("host::m").error().message().find("ssh://") != std::string::npos);
  const std::string message = parse_location("ssh://user:pass$word@host/p").error().message();
  CHECK(message.find("'user:...@host'") != std::string::npos);
}

TEST_CASE("a location is displayed as it may be typed", "[ssh]") {
  for (const char* text : {"/data", "u@host:/p", "host:p", "[::1]:p", "ssh://u@host:2222/p", "ssh://[::1]:1/~/p"}) {
    CAPTURE(text);
    CHECK(parse_location(text)->display() == text);
  }
  CHECK(parse_location("host:~/~/p")->display() == "host:./~/p");  // in the home directory
}

TEST_CASE("a host alone", "[ssh]") {
  CHECK(parse_host("rpi4").value() == host("rpi4"));
  CHECK(parse_host("u@rpi4").value() == host("rpi4", "u"));
  CHECK(parse_host("::1").value() == host("::1"));
  CHECK(parse_host("u@[::1]").value() == host("::1", "u"));
  CHECK(parse_host("ssh://u@rpi4:2222").value() == host("rpi4", "u", std::uint16_t{2222}));
  CHECK(parse_host("ssh://rpi4/").value() == host("rpi4"));
  for (const char* text : {"", "rpi4:", "rpi4:/p", "-x", "a b", "ssh://rpi4/p", "u@"}) {
    CAPTURE(text);
    CHECK(parse_host(text).error().code == Errc::usage);
  }
}

}  // namespace nb::ssh
