// SPDX-License-Identifier: Apache-2.0
#include "cli/zone.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>

namespace nb::cli {
namespace {

constexpr std::size_t k_longest_rule = 100;
constexpr std::streamsize k_longest_file = 1 << 20;  // the largest there is takes some thousands

// Takes the parts of a rule off the front of a text; each says whether it was there.
class RuleParser {
 public:
  explicit RuleParser(std::string_view text) : m_text(text) {}

  bool is_rule() {
    if (!name() || !time()) return false;
    if (m_text.empty()) return true;
    if (!name()) return false;
    if (!m_text.empty() && m_text.front() != ',' && !time()) return false;
    return m_text.empty() || (take(',') && date() && take(',') && date() && m_text.empty());
  }

 private:
  bool take(char expected) {
    if (!m_text.starts_with(expected)) return false;
    m_text.remove_prefix(1);
    return true;
  }
  template <class Predicate>
  std::size_t skip(Predicate wanted) {
    const auto end = std::find_if_not(m_text.begin(), m_text.end(), wanted);
    const auto count = static_cast<std::size_t>(end - m_text.begin());
    m_text.remove_prefix(count);
    return count;
  }
  bool number(std::size_t most_digits) {
    const std::size_t digits = skip([](char c) { return c >= '0' && c <= '9'; });
    return digits >= 1 && digits <= most_digits;
  }
  static bool is_letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
  bool name() {
    if (!take('<')) return skip(is_letter) >= 3;
    const auto quoted = [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-'; };
    return skip(quoted) >= 3 && take('>');
  }
  bool time() {
    if (!take('-')) take('+');
    if (!number(3)) return false;
    for (int part = 0; part < 2 && take(':'); ++part) {
      if (!number(2)) return false;
    }
    return true;
  }
  bool date() {
    const bool by_week = take('M');
    if (!by_week) take('J');
    if (by_week ? !(number(2) && take('.') && number(1) && take('.') && number(1)) : !number(3)) return false;
    return !take('/') || time();
  }

  std::string_view m_text;
};

// The rule at the end of a zone file.
std::string rule_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string content(static_cast<std::size_t>(k_longest_file), '\0');
  in.read(content.data(), k_longest_file);
  content.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, in.gcount())));
  if (!content.starts_with("TZif") || content.back() != '\n') return {};
  content.pop_back();
  return content.substr(content.rfind('\n') + 1);
}

std::string zone_file() {
  const char* named = std::getenv("TZ");
  if (named == nullptr) return "/etc/localtime";
  const std::string name = *named == ':' ? named + 1 : named;
  return name.starts_with('/') ? name : "/usr/share/zoneinfo/" + name;
}

// What holds now, all year round.
std::string present_offset() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  if (::localtime_r(&now, &local) == nullptr) return "UTC0";
  const long minutes = std::abs(local.tm_gmtoff) / 60;
  const bool east = local.tm_gmtoff >= 0;
  return fmt::format("<{0}{2:02}{3:02}>{1}{2:02}:{3:02}", east ? '+' : '-', east ? '-' : '+', minutes / 60,
                     minutes % 60);
}

}  // namespace

bool is_zone_rule(std::string_view text) { return text.size() <= k_longest_rule && RuleParser(text).is_rule(); }

std::string zone_rule() {
  const char* named = std::getenv("TZ");
  if (named != nullptr && is_zone_rule(named)) return named;
  const std::string found = rule_in(zone_file());
  return is_zone_rule(found) ? found : present_offset();
}

void show_times_by(const std::string& rule) {
  ::setenv("TZ", is_zone_rule(rule) ? rule.c_str() : "UTC0", 1);
  ::tzset();
}

}  // namespace nb::cli
