// SPDX-License-Identifier: Apache-2.0
#include "cli/quantities.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/text.hpp"

namespace nb::cli {
namespace {

constexpr std::uint64_t k_least_rate = 512;  // as rsync: below this nothing would move
constexpr std::uint64_t k_most_seconds = 10ULL * 366 * 24 * 3600;
constexpr std::string_view k_unit_letters = "bkmgtp";

char lower(char letter) { return static_cast<char>(std::tolower(static_cast<unsigned char>(letter))); }

// Takes "12" or "1.5" off the front.
std::optional<double> take_number(std::string_view& text) {
  double value = 0;
  double place = 1;
  bool after_point = false;
  std::size_t used = 0;
  std::size_t digits = 0;
  for (; used < text.size(); ++used) {
    const char c = text[used];
    if (c == '.' && !after_point) {
      after_point = true;
    } else if (c >= '0' && c <= '9') {
      value = value * 10 + (c - '0');
      if (after_point) place *= 10;
      ++digits;
    } else {
      break;
    }
  }
  if (digits == 0) return std::nullopt;
  text.remove_prefix(used);
  return value / place;
}

// Takes "", "K", "KiB" or "KB" off the front: the number of bytes it stands for.
double take_unit(std::string_view& text, double unsaid) {
  if (text.empty()) return unsaid;
  const std::size_t power = k_unit_letters.find(lower(text[0]));
  if (power == std::string_view::npos) return unsaid;
  text.remove_prefix(1);
  if (power == 0) return 1;
  double base = 1024;
  if (text.size() >= 2 && lower(text[0]) == 'i' && lower(text[1]) == 'b') {
    text.remove_prefix(2);
  } else if (!text.empty() && lower(text[0]) == 'b') {
    base = 1000;
    text.remove_prefix(1);
  }
  return std::pow(base, static_cast<double>(power));
}

tl::unexpected<Error> bad_value(std::string_view text, std::string_view expected) {
  return fail(Errc::usage, fmt::format("'{}' is not {}", text, expected));
}

}  // namespace

Result<std::uint64_t> parse_rate(std::string_view text) {
  constexpr std::string_view k_expected = "a rate such as 500, 1.5m or 10MB";
  std::string_view rest = text;
  const auto number = take_number(rest);
  if (!number) return bad_value(text, k_expected);
  double bytes = std::floor(*number * take_unit(rest, 1024));
  if (rest == "+1") bytes += 1;
  if (rest == "-1") bytes -= 1;
  if ((!rest.empty() && rest != "+1" && rest != "-1") || bytes < 0 || bytes > 9e18) return bad_value(text, k_expected);
  const auto rate = static_cast<std::uint64_t>(bytes);
  if (rate != 0 && rate < k_least_rate) return bad_value(text, "at least 512 bytes a second");
  return rate;
}

Result<std::uint64_t> parse_size(std::string_view text) {
  std::string_view rest = text;
  const auto number = take_number(rest);
  const double bytes = number ? std::floor(*number * take_unit(rest, 1)) : -1;
  if (!rest.empty() || bytes < 0 || bytes > 9e18) return bad_value(text, "a size such as 500M, 1.5G or 10GB");
  return static_cast<std::uint64_t>(bytes);
}

Result<std::chrono::seconds> parse_age(std::string_view text) {
  std::uint64_t unit = 1;
  std::string_view digits = text;
  constexpr std::string_view k_letters = "smhdw";
  constexpr std::array<std::uint64_t, 5> k_seconds{1, 60, 3600, 86400, 604800};
  if (!text.empty()) {
    const std::size_t at = k_letters.find(text.back());
    if (at != std::string_view::npos) {
      unit = k_seconds.at(at);
      digits.remove_suffix(1);
    }
  }
  const auto number = parse_u64(digits);
  const bool says_of_what = digits.size() < text.size() || number == 0U;
  if (!number || !says_of_what || *number > k_most_seconds / unit) {
    return bad_value(text, "an age such as 90s, 30m, 26h, 3d or 2w");
  }
  return std::chrono::seconds(*number * unit);
}

Result<std::chrono::seconds> parse_seconds(std::string_view text) {
  const auto number = parse_u64(text);
  if (!number || *number > k_most_seconds) return bad_value(text, "a number of seconds");
  return std::chrono::seconds(*number);
}

Result<int> parse_level(std::string_view text) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  int level = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (error != std::errc() || end != digits.data() + digits.size()) return bad_value(text, "a compression level");
  return level;
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array k_units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1000) return fmt::format("{} B", bytes);
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 999.5 would be printed as "1000".
  while (value >= 999.5 && unit + 1 < k_units.size()) {
    value /= 1024;
    ++unit;
  }
  return value < 99.95 ? fmt::format("{:.1f} {}", value, k_units.at(unit))
                       : fmt::format("{:.0f} {}", value, k_units.at(unit));
}

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string format_counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", format_count(count), count == 1 ? one : many);
}

std::string format_elapsed(std::chrono::seconds duration) {
  const auto seconds = duration.count();
  if (seconds < 3600) return fmt::format("{:02}:{:02}", seconds / 60, seconds % 60);
  return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string format_age(std::chrono::seconds age) {
  const auto seconds = age.count();
  if (seconds < 60) return fmt::format("{}s", seconds);
  if (seconds < 3600) return fmt::format("{}m", seconds / 60);
  if (seconds < 86400) return fmt::format("{}h {:02}m", seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}d {:02}h", seconds / 86400, seconds / 3600 % 24);
}

}  // namespace nb::cli
