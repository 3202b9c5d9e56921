// SPDX-License-Identifier: Apache-2.0
#include "cli/status_table.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>

using namespace nb;
using namespace nb::cli;
using std::chrono::hours;
using std::chrono::seconds;

namespace {

constexpr std::int64_t k_push_ns = 1'700'000'000'000'000'000;  // 2023-11-14 22:13:20 UTC

WallTime after_push(std::chrono::nanoseconds age) { return WallTime(std::chrono::nanoseconds(k_push_ns) + age); }

cache::KnownSet pushed() {
  cache::KnownSet set;
  set.destination = "h:/p";
  set.source = "/a\n/b\xff";
  set.generation = 1234;
  set.last_push_ns = k_push_ns;
  return set;
}

}  // namespace

TEST_CASE("age and staleness", "[cli]") {
  const auto fresh = status_rows({pushed()}, after_push(hours(25)), hours(26));
  REQUIRE(fresh.size() == 1);
  CHECK(fresh[0].age == hours(25));
  CHECK_FALSE(fresh[0].stale);
  CHECK_FALSE(status_rows({pushed()}, after_push(hours(26)), hours(26))[0].stale);
  CHECK(status_rows({pushed()}, after_push(hours(26) + seconds(1)), hours(26))[0].stale);
  CHECK_FALSE(status_rows({pushed()}, after_push(hours(9999)), std::nullopt)[0].stale);
}

TEST_CASE("a set that was never pushed to is too old, one from the future is not", "[cli]") {
  cache::KnownSet never;
  CHECK(status_rows({never}, after_push(hours(0)), hours(26))[0].stale);
  CHECK_FALSE(status_rows({never}, after_push(hours(0)), std::nullopt)[0].stale);
  const auto future = status_rows({pushed()}, after_push(hours(-3)), hours(26));
  CHECK(future[0].age == seconds(0));
  CHECK_FALSE(future[0].stale);
}

TEST_CASE("the table is aligned and safe to print", "[cli]") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  CHECK(status_table(status_rows({pushed()}, after_push(hours(27)), hours(26))) ==
        "DESTINATION  SOURCE     LAST PUSH         AGE       GENERATION  EXIT\n"
        "h:/p         /a /b\\377  2023-11-14 22:13  1d 03h !  1,234       0\n");
}

TEST_CASE("an exit code that is not 0 is marked", "[cli]") {
  cache::KnownSet set = pushed();
  set.last_exit = 23;
  const auto rows = status_rows({set}, after_push(hours(1)), std::nullopt);
  CHECK(status_table(rows).ends_with("  23 !\n"));
  CHECK(status_blocks(rows).ends_with("  exit        23 !\n"));
}

TEST_CASE("where the table is too wide, a set has a few lines", "[cli]") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  cache::KnownSet set = pushed();
  set.destination = "h:/" + std::string(70, 'p');
  const auto rows = status_rows({set}, after_push(hours(27)), hours(26));
  CHECK(width_of(status_table(rows)) > 80);
  CHECK(width_of(status_blocks(rows)) == set.destination.size());
  CHECK(status_blocks(rows) == set.destination +
                                   "\n  source      /a /b\\377\n  last push   2023-11-14 22:13, age 1d 03h !\n"
                                   "  generation  1,234\n  exit        0\n");
}

TEST_CASE("what is known beside pushes has columns once it is known", "[cli]") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  auto rows = status_rows({pushed(), pushed()}, after_push(hours(27)), std::nullopt);
  add_report({cache::SetFacts{5 << 20, 12, 0, 0}, std::nullopt}, after_push(hours(27)), rows[0]);
  CHECK(status_table(rows) ==
        "DESTINATION  SOURCE     LAST PUSH         AGE     GENERATION  EXIT  HISTORY\n"
        "h:/p         /a /b\\377  2023-11-14 22:13  1d 03h  1,234       0     5.0 MiB\n"
        "h:/p         /a /b\\377  2023-11-14 22:13  1d 03h  1,234       0     -\n");
  add_report({cache::SetFacts{5 << 20, 12, k_push_ns, 2}, cache::DrillRecord{k_push_ns, 40, 98}}, after_push(hours(27)),
             rows[0]);
  CHECK(status_table(rows) ==
        "DESTINATION  SOURCE     LAST PUSH         AGE     GENERATION  EXIT  HISTORY  SCRUB     DRILL\n"
        "h:/p         /a /b\\377  2023-11-14 22:13  1d 03h  1,234       0     5.0 MiB  1d 03h !  1d 03h !\n"
        "h:/p         /a /b\\377  2023-11-14 22:13  1d 03h  1,234       0     -        -         -\n");
}

TEST_CASE("a block says all that is known", "[cli]") {
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  auto rows = status_rows({pushed()}, after_push(hours(27)), std::nullopt);
  const std::string known = status_blocks(rows);
  add_report({cache::SetFacts{5 << 20, 12, 0, 0}, std::nullopt}, after_push(hours(27)), rows[0]);
  CHECK(status_blocks(rows) == known + "  history     5.0 MiB in 12 generations\n  last scrub  never\n");
  add_report({cache::SetFacts{5 << 20, 1, k_push_ns, 2}, cache::DrillRecord{k_push_ns, 0, 98}}, after_push(hours(-1)),
             rows[0]);
  CHECK(status_blocks(rows) == known +
                                   "  history     5.0 MiB in 1 generation\n"
                                   "  last scrub  2023-11-14 22:13, age 0s; 2 damaged files !\n"
                                   "  last drill  2023-11-14 22:13, age 0s; 98 files, good\n");
}

TEST_CASE("a destination is known as it is typed and as it is printed", "[cli]") {
  cache::KnownSet port = pushed();
  port.destination = "h:2222:/p";
  cache::KnownSet odd = pushed();
  odd.destination = "/a\xff";
  const std::vector<cache::KnownSet> sets{pushed(), port, odd};
  CHECK(known_destination(sets, "ssh://h:2222/p", "h:2222:/p") == "h:2222:/p");
  CHECK(known_destination(sets, "h:2222:/p", "h:2222") == "h:2222:/p");
  CHECK(known_destination(sets, "/a\\377", "/a\\377") == "/a\xff");
  CHECK_FALSE(known_destination(sets, "h:/other", "h:/other").has_value());
}

TEST_CASE("what is too old is named with its age", "[cli]") {
  cache::KnownSet never = pushed();
  never.destination = "never";
  never.last_push_ns = 0;
  cache::KnownSet again = pushed();
  again.source = "/other";
  CHECK(stale_destinations(status_rows({pushed(), again, never}, after_push(hours(27)), hours(26))) ==
        "h:/p (1d 03h), never (never)");
  CHECK(stale_destinations(status_rows({pushed()}, after_push(hours(1)), hours(26))).empty());
}
