// SPDX-License-Identifier: Apache-2.0
#include "cli/zone.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>
#include <optional>

#include "cli/status_table.hpp"

using namespace nb::cli;

namespace {

// TZ as it is set for the life of this.
class Zone {
 public:
  explicit Zone(const char* value) {
    if (const char* old = std::getenv("TZ")) m_old = old;
    set(value);
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;
  ~Zone() { set(m_old ? m_old->c_str() : nullptr); }

 private:
  static void set(const char* value) {
    if (value == nullptr) {
      ::unsetenv("TZ");
    } else {
      ::setenv("TZ", value, 1);
    }
    ::tzset();
  }
  std::optional<std::string> m_old;
};

constexpr std::int64_t k_winter_ns = 1'796'000'000'000'000'000;  // 2026-11-30 00:53:20 UTC
constexpr std::int64_t k_summer_ns = 1'782'777'600'000'000'000;  // 2026-06-30 00:00:00 UTC

}  // namespace

TEST_CASE("zone: rules", "[cli]") {
  for (const char* rule :
       {"UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT", "<+0330>-3:30", "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
        "IST-2IDT,M3.4.4/26,M10.5.0", "AAA+1:02:03BBB-4,J1,J365/167:59:59", "XXX3YYY,0/0,365"}) {
    INFO(rule);
    CHECK(is_zone_rule(rule));
  }
}

TEST_CASE("zone: what is no rule, files above all", "[cli]") {
  for (const char* text : {"",
                           "UTC",
                           "Europe/Berlin",
                           ":/etc/passwd",
                           "/etc/passwd",
                           "../../x0",
                           "CE-1",
                           "CET-",
                           "CET-1C",
                           "CET-1CEST,",
                           "CET-1CEST,M3.5.0",
                           "CET-1CEST,M3.5.0,M10.5.0,",
                           "CET-1CEST,M3.5,M10.5.0",
                           "CET-1 ",
                           "<CET-1",
                           "<C/T>-1",
                           "CET-1:",
                           "CET-1:2:3:4",
                           "CET-1234",
                           "CET-1CEST,M3.5.0,M10.5.0/"}) {
    INFO(text);
    CHECK_FALSE(is_zone_rule(text));
  }
  CHECK_FALSE(is_zone_rule(std::string_view("UTC0\0", 5)));
  CHECK_FALSE(is_zone_rule(std::string(100, 'A') + "0"));
}

TEST_CASE("zone: this process's own, in every form that TZ has", "[cli]") {
  for (const char* value : {"CET-1CEST,M3.5.0,M10.5.0/3", "Europe/Berlin", ":Europe/Berlin",
                            "/usr/share/zoneinfo/Europe/Berlin", "UTC0", "no/such/zone"}) {
    INFO(value);
    const Zone zone(value);
    const std::string winter = local_time(k_winter_ns);
    const std::string summer = local_time(k_summer_ns);
    const std::string rule = zone_rule();
    CHECK(is_zone_rule(rule));
    const Zone other("UTC0");
    show_times_by(rule);
    CHECK(local_time(k_winter_ns) == winter);
    CHECK(local_time(k_summer_ns) == summer);
  }
}

TEST_CASE("zone: without TZ, and from a peer that lies", "[cli]") {
  const Zone zone(nullptr);
  CHECK(is_zone_rule(zone_rule()));
  show_times_by("CET-1");
  CHECK(local_time(k_winter_ns) == "2026-11-30 01:53");
  show_times_by(":/etc/passwd");
  CHECK(local_time(k_winter_ns) == "2026-11-30 00:53");
}
