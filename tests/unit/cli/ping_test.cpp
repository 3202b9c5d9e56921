// SPDX-License-Identifier: Apache-2.0
// Which address is told of what.
#include "cli/ping.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;

TEST_CASE("start and failure go behind the path, before what is asked of it", "[cli]") {
  const auto start = [](const char* url) { return ping_address(url, PingEvent::started); };
  CHECK(start("https://hc-ping.com/uuid") == "https://hc-ping.com/uuid/start");
  CHECK(start("https://hc-ping.com/uuid/") == "https://hc-ping.com/uuid/start");
  CHECK(start("http://h:8000") == "http://h:8000/start");
  CHECK(start("http://h?a=/b") == "http://h/start?a=/b");
  CHECK(ping_address("http://h/x?a#b", PingEvent::failed) == "http://h/x/fail?a#b");
  CHECK(ping_address("http://h/x/?a", PingEvent::succeeded) == "http://h/x/?a");
}

TEST_CASE("only web addresses with a host are taken", "[cli]") {
  CHECK(check_ping_url("http://h"));
  CHECK(check_ping_url("HTTPS://user:pw@[::1]:8000/x?y"));
  for (const char* url : {"", "h", "//h", "ftp://h", "javascript://h", "http://", "http:///x", "http://u@/x",
                          "http://h/a b", "http://h/a\n"}) {
    INFO(url);
    const auto checked = check_ping_url(url);
    REQUIRE_FALSE(checked);
    CHECK(checked.error().code == Errc::usage);
  }
}
