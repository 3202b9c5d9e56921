// SPDX-License-Identifier: Apache-2.0
#include "cli/when.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <optional>

#include "base/text.hpp"
#include "cli/quantities.hpp"

namespace nb::cli {
namespace {

using std::chrono::nanoseconds;

tl::unexpected<Error> not_a_time(std::string_view text) {
  return fail(Errc::usage, fmt::format("'{}' is no WHEN: a generation (7), latest, yesterday, -3d, -12h, 2026-11-30 or "
                                       "2026-11-30T14:05",
                                       text));
}

Result<wire::Moment> at_time(nanoseconds since_1970, std::string_view text) {
  if (since_1970.count() >= 0) {
    return wire::Moment{wire::MomentKind::time, static_cast<std::uint64_t>(since_1970.count())};
  }
  return fail(Errc::usage, fmt::format("'{}' lies before 1970", text));
}

// Takes `digits` digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, char expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(1);
  return true;
}

// The next part of a date, behind its separator, up to `most`.
bool take_part(std::string_view& text, char separator, int most, int& value) {
  if (!take(text, separator)) return false;
  const auto number = take_number(text, 2);
  if (!number || *number > most) return false;
  value = *number;
  return true;
}

// The second at which `local` begins; nothing for a day that there is not, such as February 30.
std::optional<std::time_t> second_of(std::tm local) {
  const std::tm asked = local;
  local.tm_isdst = -1;
  const std::time_t time = std::mktime(&local);
  // An hour that summer time leaves out is moved; a day is not.
  const bool same_day =
      local.tm_year == asked.tm_year && local.tm_mon == asked.tm_mon && local.tm_mday == asked.tm_mday;
  return same_day ? std::optional(time) : std::nullopt;
}

// What fits into nanoseconds: 2255.
constexpr std::int64_t k_most_seconds = 9'000'000'000;

// The last nanosecond before `second`; the last of all for what comes after it.
nanoseconds end_before(std::time_t second) {
  return std::chrono::seconds(std::min<std::int64_t>(second, k_most_seconds)) - nanoseconds(1);
}

// What `text` names, which is a date with or without a time of day; the last nanosecond of it.
std::optional<nanoseconds> end_of_date(std::string_view text) {
  std::tm local{};
  const auto year = take_number(text, 4);
  if (!year || !take_part(text, '-', 12, local.tm_mon) || !take_part(text, '-', 31, local.tm_mday)) return std::nullopt;
  local.tm_year = *year - 1900;
  local.tm_mon -= 1;
  if (local.tm_mon < 0 || local.tm_mday == 0) return std::nullopt;
  const auto begin = second_of(local);
  if (!begin) return std::nullopt;
  if (text.empty()) {
    local.tm_mday += 1;  // mktime makes a day of the next month of it
    local.tm_isdst = -1;
    return end_before(std::mktime(&local));
  }
  if (text.front() != 'T' && text.front() != ' ') return std::nullopt;
  if (!take_part(text, text.front(), 23, local.tm_hour) || !take_part(text, ':', 59, local.tm_min)) return std::nullopt;
  const bool seconds_said = !text.empty();
  if (seconds_said && !take_part(text, ':', 59, local.tm_sec)) return std::nullopt;
  if (!text.empty()) return std::nullopt;
  const auto time = second_of(local);
  if (!time) return std::nullopt;
  return end_before(*time + (seconds_said ? 1 : 60));
}

// "SECONDS" or "SECONDS.FRACTION", whose digits behind the ninth are dropped.
std::optional<nanoseconds> since_1970(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto seconds = parse_u64(text.substr(0, point));
  if (!seconds || *seconds > static_cast<std::uint64_t>(k_most_seconds)) return std::nullopt;
  std::string fraction(text.substr(std::min(point + 1, text.size())));
  if (point < text.size() && fraction.empty()) return std::nullopt;
  if (fraction.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  fraction.resize(9, '0');
  const std::uint64_t ns = *seconds * 1'000'000'000 + *parse_u64(fraction);
  return nanoseconds(static_cast<std::int64_t>(ns));
}

nanoseconds end_of_yesterday(WallTime now) {
  const std::time_t seconds = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  std::tm local{};
  ::localtime_r(&seconds, &local);
  local.tm_hour = local.tm_min = local.tm_sec = 0;
  local.tm_isdst = -1;
  return end_before(std::mktime(&local));
}

}  // namespace

Result<wire::Moment> parse_when(std::string_view text, WallTime now) {
  if (text == "latest") return wire::Moment{};
  if (text == "yesterday") return at_time(end_of_yesterday(now), text);
  if (text.starts_with('-')) {
    const auto age = parse_age(text.substr(1));
    if (!age) return not_a_time(text);
    return at_time(now.time_since_epoch() - *age, text);
  }
  if (text.starts_with('@')) {
    const auto time = since_1970(text.substr(1));
    return time ? at_time(*time, text) : not_a_time(text);
  }
  if (const auto number = parse_u64(text.starts_with('#') ? text.substr(1) : text)) {
    if (*number > wire::k_max_moment) return not_a_time(text);
    return wire::Moment{wire::MomentKind::generation, *number};
  }
  const auto end = end_of_date(text);
  if (!end) return not_a_time(text);
  return at_time(*end, text);
}

std::string when_text(const wire::Moment& moment) {
  switch (moment.kind) {
    case wire::MomentKind::latest: return "latest";
    case wire::MomentKind::generation: return std::to_string(moment.value);
    case wire::MomentKind::time:
      return fmt::format("@{}.{:09}", moment.value / 1'000'000'000, moment.value % 1'000'000'000);
  }
  return {};
}

}  // namespace nb::cli
