// SPDX-License-Identifier: Apache-2.0
#include "cli/quantities.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;
using std::chrono::seconds;

TEST_CASE("rates in rsync's forms", "[cli]") {
  const std::vector<std::pair<std::string, std::uint64_t>> forms{
      {"0", 0},      {"1", 1024},       {"1k", 1024},       {"1K", 1024},           {"1KiB", 1024},
      {"1kb", 1000}, {"1.5m", 1572864}, {"10MB", 10000000}, {"512b", 512},          {"2g", 2147483648ULL},
      {"0.5k", 512}, {"1m-1", 1048575}, {"1k+1", 1025},     {"1GiB", 1073741824ULL}};
  for (const auto& [text, bytes] : forms) {
    INFO(text);
    const auto rate = parse_rate(text);
    REQUIRE(rate);
    CHECK(*rate == bytes);
  }
  for (const char* text :
       {"", "x", "1x", "-1", "1.2.3", "1kk", "k", "511b", "0.1", "1m-2", "99999999999t", " 1", "1 "}) {
    INFO(text);
    const auto rate = parse_rate(text);
    REQUIRE_FALSE(rate);
    CHECK(rate.error().code == Errc::usage);
  }
}

TEST_CASE("ages", "[cli]") {
  CHECK(parse_age("0").value() == seconds(0));
  CHECK(parse_age("90s").value() == seconds(90));
  CHECK(parse_age("30m").value() == seconds(1800));
  CHECK(parse_age("26h").value() == seconds(93600));
  CHECK(parse_age("3d").value() == seconds(259200));
  CHECK(parse_age("2w").value() == seconds(1209600));
  CHECK(parse_age("0h").value() == seconds(0));
  for (const char* text :
       {"", "h", "26", "1y", "1.5h", "-1h", "h1", "1 h", "99999999999999999999h", "18446744073709551615w"}) {
    INFO(text);
    CHECK_FALSE(parse_age(text));
  }
}

TEST_CASE("seconds", "[cli]") {
  CHECK(parse_seconds("0").value() == seconds(0));
  CHECK(parse_seconds("86400").value() == seconds(86400));
  for (const char* text : {"", "-1", "1s", "1.0", "99999999999"}) CHECK_FALSE(parse_seconds(text));
}

TEST_CASE("sizes are short and never read 1000", "[cli]") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(999) == "999 B");
  CHECK(format_bytes(1000) == "1.0 KiB");
  CHECK(format_bytes(4404019) == "4.2 MiB");
  CHECK(format_bytes(std::uint64_t{99} << 20) == "99.0 MiB");
  CHECK(format_bytes(std::uint64_t{100} << 20) == "100 MiB");
  CHECK(format_bytes((std::uint64_t{1} << 30) - 1) == "1.0 GiB");
  CHECK(format_bytes(~std::uint64_t{0}) == "16.0 EiB");
}

TEST_CASE("counts and times", "[cli]") {
  CHECK(format_count(0) == "0");
  CHECK(format_count(999) == "999");
  CHECK(format_count(1000) == "1,000");
  CHECK(format_count(1234567) == "1,234,567");
  CHECK(format_counted(1, "file", "files") == "1 file");
  CHECK(format_counted(0, "file", "files") == "0 files");
  CHECK(format_elapsed(seconds(2)) == "00:02");
  CHECK(format_elapsed(seconds(3599)) == "59:59");
  CHECK(format_elapsed(seconds(3600)) == "01:00:00");
  CHECK(format_age(seconds(59)) == "59s");
  CHECK(format_age(seconds(3599)) == "59m");
  CHECK(format_age(seconds(7500)) == "2h 05m");
  CHECK(format_age(seconds(90000)) == "1d 01h");
}
