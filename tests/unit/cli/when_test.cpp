// SPDX-License-Identifier: Apache-2.0
#include "cli/when.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>

using namespace nb;
using namespace nb::cli;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using wire::Moment;
using wire::MomentKind;

namespace {

// The process's time zone while this lives.
class Zone {
 public:
  explicit Zone(const char* name) {
    if (const char* before = std::getenv("TZ")) m_before = before;
    set(name);
  }
  ~Zone() { set(m_before ? m_before->c_str() : nullptr); }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;

 private:
  static void set(const char* name) {
    name == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", name, 1);
    ::tzset();
  }
  std::optional<std::string> m_before;
};

// Central European time by its rule, so that no data base of zones is needed.
constexpr const char* k_berlin = "CET-1CEST,M3.5.0,M10.5.0/3";

// 2026-11-30 12:00:00.5 UTC.
const WallTime k_now{seconds(1'796'040'000) + std::chrono::milliseconds(500)};
// 2026-11-30 00:00 UTC.
constexpr seconds k_day_began{1'795'996'800};

Moment when(std::string_view text) {
  INFO(text);
  const auto moment = parse_when(text, k_now);
  REQUIRE(moment);
  return *moment;
}

nanoseconds time_of(std::string_view text) {
  const Moment moment = when(text);
  CHECK(moment.kind == MomentKind::time);
  return nanoseconds(moment.value);
}

constexpr nanoseconds k_tick{1};

}  // namespace

TEST_CASE("when: generations and the live tree", "[cli]") {
  CHECK(when("7") == Moment{MomentKind::generation, 7});
  CHECK(when("#7") == Moment{MomentKind::generation, 7});
  CHECK(when("0") == Moment{MomentKind::generation, 0});
  CHECK(when("2026") == Moment{MomentKind::generation, 2026});
  CHECK(when("latest") == Moment{MomentKind::latest, 0});
}

TEST_CASE("when: so long ago", "[cli]") {
  const nanoseconds now = k_now.time_since_epoch();
  CHECK(time_of("-30m") == now - minutes(30));
  CHECK(time_of("-12h") == now - hours(12));
  CHECK(time_of("-3d") == now - hours(72));
  CHECK(time_of("-2w") == now - hours(14 * 24));
  CHECK(time_of("-90s") == now - seconds(90));
}

TEST_CASE("when: dates are local, and what is left out counts to its end", "[cli]") {
  {
    const Zone zone("UTC0");
    CHECK(time_of("yesterday") == k_day_began - k_tick);
    CHECK(time_of("2026-11-29") == k_day_began - k_tick);
    CHECK(time_of("2600-01-01") == std::chrono::seconds(9'000'000'000) - k_tick);
    CHECK(time_of("2026-11-30") == k_day_began + hours(24) - k_tick);
    CHECK(time_of("2026-11-30T14:05") == k_day_began + hours(14) + minutes(6) - k_tick);
    CHECK(time_of("2026-11-30 14:05") == time_of("2026-11-30T14:05"));
    CHECK(time_of("2026-11-30T14:05:00") == k_day_began + hours(14) + minutes(5) + seconds(1) - k_tick);
    CHECK(time_of("2024-02-29") == seconds(1'709'251'200) - k_tick);
    CHECK(time_of("2025-12-31") == seconds(1'767'225'600) - k_tick);
  }
  const Zone zone(k_berlin);
  CHECK(time_of("yesterday") == k_day_began - hours(1) - k_tick);
  CHECK(time_of("2026-11-30T14:05") == k_day_began + hours(13) + minutes(6) - k_tick);
}

TEST_CASE("when: days of 23 and of 25 hours, and hours that there are not", "[cli]") {
  const Zone zone(k_berlin);
  const auto length = [](const std::string& day, const std::string& before) { return time_of(day) - time_of(before); };
  CHECK(length("2026-03-29", "2026-03-28") == hours(23));
  CHECK(length("2026-10-25", "2026-10-24") == hours(25));
  CHECK(length("2026-10-26", "2026-10-25") == hours(24));
  // 02:30 is 03:30 on the day when summer time begins.
  CHECK(time_of("2026-03-29T02:30") == time_of("2026-03-29T03:30"));
  // The day before an hour was left out: "yesterday" is the end of that day, not 24 hours ago.
  const WallTime noon{time_of("2026-03-29T12:00")};
  CHECK(parse_when("yesterday", noon)->value == static_cast<std::uint64_t>(time_of("2026-03-28").count()));
}

TEST_CASE("when: everything else is refused with the forms there are", "[cli]") {
  const Zone zone("UTC0");
  for (const char* text : {"",
                           "#",
                           "#x",
                           "x",
                           "-",
                           "-x",
                           "-3y",
                           "--3d",
                           "3d",
                           "-1.5h",
                           "Latest",
                           "2026-11",
                           "2026-13-01",
                           "2026-00-01",
                           "2026-11-00",
                           "2026-11-31",
                           "2025-02-29",
                           "2026-11-30T",
                           "2026-11-30T24:00",
                           "2026-11-30T14:60",
                           "2026-11-30T14:05:60",
                           "2026-11-30T14:05:00Z",
                           "2026-11-30x14:05",
                           "2026-11-30T14",
                           "2026-1-30",
                           "26-11-30",
                           " 7",
                           "7 ",
                           "-7",
                           "99999999999999999999",
                           "9223372036854775808",
                           "2026-11-30T1:05",
                           "yesterday 14:05"}) {
    INFO(text);
    const auto moment = parse_when(text, k_now);
    REQUIRE_FALSE(moment);
    CHECK(moment.error().code == Errc::usage);
    CHECK(moment.error().context.find("2026-11-30T14:05") != std::string::npos);
  }
  const auto early = parse_when("1969-12-31", k_now);
  REQUIRE_FALSE(early);
  CHECK(early.error().context == "'1969-12-31' lies before 1970");
  CHECK_FALSE(parse_when("-9w", WallTime(hours(24))));
}
