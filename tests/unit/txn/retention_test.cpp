// SPDX-License-Identifier: Apache-2.0
// What a policy keeps, in fixed time zones: periods across changes of the clock, ISO weeks, clocks that jumped, times
// that are not known.
#include "txn/retention.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <ctime>

#include "golden.hpp"
#include "txn/text_record.hpp"

namespace nb::txn {
namespace {

// The zone of the process for one test.
class Zone {
 public:
  explicit Zone(const char* name) {
    const char* now = std::getenv("TZ");
    if (now != nullptr) m_before = now;
    m_had = now != nullptr;
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  Zone(const Zone&) = delete;
  Zone& operator=(const Zone&) = delete;
  ~Zone() {
    if (m_had) ::setenv("TZ", m_before.c_str(), 1);
    if (!m_had) ::unsetenv("TZ");
    ::tzset();
  }

 private:
  std::string m_before;
  bool m_had = false;
};

constexpr const char* k_berlin = "CET-1CEST,M3.5.0,M10.5.0/3";  // spelled out: no need of a time zone database

std::int64_t utc(int year, int month, int day, int hour = 0, int minute = 0) {
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  return static_cast<std::int64_t>(::timegm(&parts)) * 1'000'000'000;
}

// Numbered from 1.
std::vector<DatedGeneration> at(const std::vector<std::int64_t>& times) {
  std::vector<DatedGeneration> all;
  for (const std::int64_t time : times) all.push_back({all.size() + 1, time});
  return all;
}

std::vector<std::uint64_t> kept(const std::vector<Decision>& decisions) {
  std::vector<std::uint64_t> numbers;
  for (const Decision& each : decisions) {
    if (each.fate == Fate::keep) numbers.push_back(each.generation.number);
  }
  return numbers;
}

using Numbers = std::vector<std::uint64_t>;
using Reasons = std::vector<std::string>;

constexpr std::int64_t k_far = std::int64_t{4'000'000'000} * 1'000'000'000;

RetentionPolicy with(std::uint64_t RetentionPolicy::*rule, std::uint64_t count) {
  RetentionPolicy policy;
  policy.*rule = count;
  return policy;
}

TEST_CASE("the newest stays whatever the policy", "[txn][retention]") {
  const auto decisions = decide(at({utc(2026, 1, 1), utc(2026, 1, 2)}), {}, k_far);
  CHECK(kept(decisions) == Numbers{2});
  CHECK(decisions[1].reasons == Reasons{"newest"});
  CHECK(decisions[0].reasons == Reasons{"no rule keeps it"});
  CHECK(decide({}, default_policy(), k_far).empty());
}

TEST_CASE("the last ones are counted by number", "[txn][retention]") {
  const auto decisions = decide(at({1, 2, 3, 4, 5}), with(&RetentionPolicy::last, 3), k_far);
  CHECK(kept(decisions) == Numbers{3, 4, 5});
  CHECK(decisions[2].reasons == Reasons{"last 3"});
  CHECK(kept(decide(at({1, 2, 3}), with(&RetentionPolicy::last, k_keep_all), k_far)) == Numbers{1, 2, 3});
}

TEST_CASE("of each day the newest is kept, and days without one do not count", "[txn][retention]") {
  const Zone zone("UTC");
  const auto decisions = decide(at({utc(2026, 11, 1, 10), utc(2026, 11, 20, 1), utc(2026, 11, 20, 23),
                                    utc(2026, 11, 30, 5), utc(2026, 11, 30, 6)}),
                                with(&RetentionPolicy::daily, 2), k_far);
  CHECK(kept(decisions) == Numbers{3, 5});
  CHECK(decisions[2].reasons == Reasons{"daily 2026-11-20"});
  CHECK(decisions[4].reasons == Reasons{"newest", "daily 2026-11-30"});
}

TEST_CASE("rules add up", "[txn][retention]") {
  const Zone zone("UTC");
  RetentionPolicy policy;
  policy.last = 1;
  policy.monthly = 2;
  policy.yearly = 3;
  const auto decisions =
      decide(at({utc(2024, 5, 1), utc(2025, 5, 1), utc(2026, 4, 30), utc(2026, 5, 1), utc(2026, 5, 2)}), policy, k_far);
  CHECK(kept(decisions) == Numbers{1, 2, 3, 5});
  CHECK(decisions[4].reasons == Reasons{"newest", "last 1", "monthly 2026-05", "yearly 2026"});
  CHECK(decisions[2].reasons == Reasons{"monthly 2026-04"});
  CHECK(decisions[1].reasons == Reasons{"yearly 2025"});
}

TEST_CASE("days are those of the local zone", "[txn][retention]") {
  const auto times = at({utc(2026, 6, 1, 21, 30), utc(2026, 6, 1, 22, 30)});
  {
    const Zone zone("UTC");
    CHECK(kept(decide(times, with(&RetentionPolicy::daily, 9), k_far)) == Numbers{2});
  }
  const Zone zone(k_berlin);  // 23:30 and 00:30 of the next day
  CHECK(kept(decide(times, with(&RetentionPolicy::daily, 9), k_far)) == Numbers{1, 2});
}

TEST_CASE("the hour that comes twice is two hours, and the one that is left out none", "[txn][retention]") {
  const Zone zone(k_berlin);
  // 02:30 summer time and 02:30 winter time of 2026-10-25.
  const auto twice =
      decide(at({utc(2026, 10, 25, 0, 30), utc(2026, 10, 25, 1, 30)}), with(&RetentionPolicy::hourly, 9), k_far);
  CHECK(kept(twice) == Numbers{1, 2});
  CHECK(twice[0].reasons == Reasons{"hourly 2026-10-25 02:00"});
  CHECK(twice[1].reasons == Reasons{"newest", "hourly 2026-10-25 02:00"});
  // 01:59 and 03:00 of 2026-03-29.
  const auto left_out =
      decide(at({utc(2026, 3, 29, 0, 59), utc(2026, 3, 29, 1, 0)}), with(&RetentionPolicy::hourly, 9), k_far);
  CHECK(left_out[1].reasons == Reasons{"newest", "hourly 2026-03-29 03:00"});
  // The day of 25 hours is one day.
  CHECK(kept(decide(at({utc(2026, 10, 24, 22, 0), utc(2026, 10, 25, 22, 59)}), with(&RetentionPolicy::daily, 9),
                    k_far)) == Numbers{2});
}

TEST_CASE("weeks are those of ISO 8601", "[txn][retention]") {
  const Zone zone("UTC");
  // Thursday 2026-12-31 to Sunday 2027-01-03 are of week 53 of 2026; Monday begins the first of 2027.
  const auto decisions =
      decide(at({utc(2026, 12, 31), utc(2027, 1, 3), utc(2027, 1, 4)}), with(&RetentionPolicy::weekly, 9), k_far);
  CHECK(kept(decisions) == Numbers{2, 3});
  CHECK(decisions[1].reasons == Reasons{"weekly 2026-W53"});
  CHECK(decisions[2].reasons == Reasons{"newest", "weekly 2027-W01"});
}

TEST_CASE("within counts from the newest, not from now", "[txn][retention]") {
  RetentionPolicy policy;
  policy.within_seconds = 10 * 86'400;
  const auto times = at({utc(2026, 1, 1), utc(2026, 1, 9, 23, 59), utc(2026, 1, 10), utc(2026, 1, 20)});
  const auto decisions = decide(times, policy, utc(2027, 1, 1));
  CHECK(kept(decisions) == Numbers{3, 4});
  CHECK(decisions[2].reasons == Reasons{"within 10 days"});
}

TEST_CASE("a generation from the future neither expires the others nor goes", "[txn][retention]") {
  RetentionPolicy policy;
  policy.within_seconds = 10 * 86'400;
  const auto times = at({utc(2026, 1, 1), utc(2026, 1, 10), utc(2040, 1, 1), utc(2026, 1, 12)});
  CHECK(kept(decide(times, policy, utc(2026, 1, 12))) == Numbers{2, 3, 4});
  // Nor when it is the newest itself.
  const auto last = at({utc(2026, 1, 1), utc(2026, 1, 10), utc(2040, 1, 1)});
  CHECK(kept(decide(last, policy, utc(2026, 1, 12))) == Numbers{1, 2, 3});
}

TEST_CASE("a clock that jumped does not give a day twice", "[txn][retention]") {
  const Zone zone("UTC");
  const auto times = at({utc(2026, 1, 9), utc(2026, 1, 10, 1), utc(2040, 1, 1), utc(2026, 1, 10, 2)});
  CHECK(kept(decide(times, with(&RetentionPolicy::daily, 3), k_far)) == Numbers{1, 3, 4});
}

TEST_CASE("what has no time is as old as what came after it", "[txn][retention]") {
  const Zone zone("UTC");
  std::vector<DatedGeneration> all{{0, 0}, {1, utc(2026, 1, 1)}, {2, utc(2026, 1, 20)}};
  RetentionPolicy policy;
  policy.within_seconds = 30 * 86'400;
  CHECK(kept(decide(all, policy, k_far)) == Numbers{0, 1, 2});
  policy.within_seconds = 10 * 86'400;
  CHECK(kept(decide(all, policy, k_far)) == Numbers{2});
  // It is the newest of no period, and no period is spent on it.
  CHECK(kept(decide(all, with(&RetentionPolicy::daily, 9), k_far)) == Numbers{1, 2});
  CHECK(kept(decide(all, with(&RetentionPolicy::last, 3), k_far)) == Numbers{0, 1, 2});
  // Where nothing is known nothing is too old.
  CHECK(kept(decide(at({0, 0}), policy, k_far)) == Numbers{1, 2});
}

TEST_CASE("the default keeps seven and a month", "[txn][retention]") {
  std::vector<std::int64_t> times;
  for (int day = 1; day <= 60; ++day) times.push_back(utc(2026, 1, 1) + std::int64_t{day} * 86'400 * 1'000'000'000);
  CHECK(kept(decide(at(times), default_policy(), k_far)).size() == 31);
  CHECK(describe(default_policy()) == "last 7, within 30 days");
  CHECK(describe({}) == "the newest alone");
}

TEST_CASE("a policy is a text record", "[txn][retention][records]") {
  SetPolicy policy{{k_keep_all, 24, 7, 5, 12, 10, 90'000}, std::nullopt};
  CHECK(describe(policy.keep) == "last all, hourly 24, daily 7, weekly 5, monthly 12, yearly 10, within 25 hours");
  const Bytes encoded = encode(policy);
  INFO(to_hex(encoded));
  CHECK(encoded == test::golden("policy"));
  CHECK(decode_policy(encoded).value() == policy);
  CHECK(decode_policy(encode(SetPolicy())).value() == SetPolicy());
  policy.max_delete = 17;
  CHECK(encode(policy) == test::golden("policy_limit"));
  CHECK(decode_policy(test::golden("policy_limit")).value() == policy);
  for (const std::uint64_t limit : {std::uint64_t{0}, std::uint64_t{17}, k_keep_all}) {
    policy.max_delete = limit;
    CHECK(decode_policy(encode(policy)).value() == policy);
  }
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    Bytes damaged = encoded;
    damaged[i] ^= std::byte{1};
    const auto decoded = decode_policy(damaged);
    REQUIRE(!decoded);
    CHECK(decoded.error().code == Errc::bad_set);
  }
}

TEST_CASE("a policy of a newer version is refused", "[txn][retention][records]") {
  TextRecordWriter out("nbackup policy");
  out.number("version", 3);
  CHECK(decode_policy(out.finish()).error().message().find("newer") != std::string::npos);
}

}  // namespace
}  // namespace nb::txn
