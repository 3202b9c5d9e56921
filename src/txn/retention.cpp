// SPDX-License-Identifier: Apache-2.0
#include "txn/retention.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "txn/text_record.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_title = "nbackup policy";
constexpr std::uint64_t k_version = 2;
constexpr std::uint64_t k_version_without_limit = 1;  // written where there is none
constexpr std::string_view k_all = "all";
constexpr std::int64_t k_second_ns = 1'000'000'000;
constexpr std::uint64_t k_day_seconds = 86'400;

// A rule that counts periods: its names in words and on disk, the form of a period's name, which periods differ
// although their names do not (the hour that comes twice when clocks are set back), and how many it keeps.
struct PeriodRule {
  const char* name;
  const char* format;
  bool tells_offset;
  std::uint64_t RetentionPolicy::*count;
};
constexpr std::array k_period_rules{
    PeriodRule{"hourly", "%Y-%m-%d %H:00", true, &RetentionPolicy::hourly},
    PeriodRule{"daily", "%Y-%m-%d", false, &RetentionPolicy::daily},
    PeriodRule{"weekly", "%G-W%V", false, &RetentionPolicy::weekly},
    PeriodRule{"monthly", "%Y-%m", false, &RetentionPolicy::monthly},
    PeriodRule{"yearly", "%Y", false, &RetentionPolicy::yearly},
};

std::string count_text(std::uint64_t count) { return count == k_keep_all ? std::string(k_all) : std::to_string(count); }

Result<std::uint64_t> get_count(TextRecordReader& in, std::string_view key) {
  if (!in.next_is(key)) return in.number(key);
  TextRecordReader ahead = in;
  NB_TRY_ASSIGN(const std::string_view text, ahead.line(key));
  if (text != k_all) return in.number(key);
  in = ahead;
  return k_keep_all;
}

std::string duration_text(std::uint64_t seconds) {
  struct Unit {
    std::uint64_t seconds;
    const char* one;
    const char* many;
  };
  constexpr std::array k_units{Unit{k_day_seconds, " day", " days"}, Unit{3600, " hour", " hours"},
                               Unit{60, " minute", " minutes"}, Unit{1, " second", " seconds"}};
  for (const Unit& unit : k_units) {
    if (seconds % unit.seconds != 0) continue;
    const std::uint64_t count = seconds / unit.seconds;
    return std::to_string(count) + (count == 1 ? unit.one : unit.many);
  }
  return {};
}

struct Period {
  std::string key;
  std::string name;
};

std::optional<Period> period_of(std::int64_t time_ns, const PeriodRule& rule) {
  const auto seconds = static_cast<std::time_t>(time_ns / k_second_ns);
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) return std::nullopt;
  std::array<char, 64> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), rule.format, &parts);
  const std::string name(text.data(), size);
  return Period{rule.tells_offset ? name + " " + std::to_string(parts.tm_gmtoff) : name, name};
}

bool is_known(const DatedGeneration& generation) { return generation.time_ns > 0; }

class Decider {
 public:
  Decider(const std::vector<DatedGeneration>& generations, const RetentionPolicy& policy, std::int64_t now_ns)
      : m_policy(policy), m_now_ns(now_ns) {
    for (const DatedGeneration& each : generations) m_decisions.push_back({each, Fate::drop, {}});
  }

  std::vector<Decision> decide() {
    if (m_decisions.empty()) return {};
    keep(m_decisions.back(), "newest");
    keep_last();
    for (const PeriodRule& rule : k_period_rules) keep_periods(rule);
    keep_within();
    for (Decision& each : m_decisions) {
      if (each.fate == Fate::drop) each.reasons.emplace_back("no rule keeps it");
    }
    return std::move(m_decisions);
  }

 private:
  static void keep(Decision& decision, std::string reason) {
    decision.fate = Fate::keep;
    decision.reasons.push_back(std::move(reason));
  }

  void keep_last() {
    const std::size_t count = std::min<std::uint64_t>(m_policy.last, m_decisions.size());
    for (std::size_t i = 0; i < count; ++i) {
      keep(m_decisions[m_decisions.size() - 1 - i], "last " + count_text(m_policy.last));
    }
  }

  void keep_periods(const PeriodRule& rule) {
    const std::uint64_t wanted = m_policy.*rule.count;
    std::set<std::string> seen;
    for (auto it = m_decisions.rbegin(); it != m_decisions.rend() && seen.size() < wanted; ++it) {
      if (!is_known(it->generation)) continue;
      const std::optional<Period> period = period_of(it->generation.time_ns, rule);
      if (period && seen.insert(period->key).second) keep(*it, std::string(rule.name) + " " + period->name);
    }
  }

  // The newest generation that no wrong clock has put into the future; if there is none, the newest whose time is
  // known.
  [[nodiscard]] std::optional<std::int64_t> reference() const {
    std::optional<std::int64_t> newest;
    for (auto it = m_decisions.rbegin(); it != m_decisions.rend(); ++it) {
      if (!is_known(it->generation)) continue;
      if (it->generation.time_ns <= m_now_ns) return it->generation.time_ns;
      if (!newest) newest = it->generation.time_ns;
    }
    return newest;
  }

  void keep_within() {
    if (m_policy.within_seconds == 0) return;
    const std::optional<std::int64_t> newest = reference();
    // Where no time is known at all, nothing is known to be too old.
    std::int64_t time_ns = newest.value_or(0);
    for (auto it = m_decisions.rbegin(); it != m_decisions.rend(); ++it) {
      if (is_known(it->generation)) time_ns = it->generation.time_ns;
      if (newest && is_older(time_ns, *newest)) continue;
      keep(*it, "within " + duration_text(m_policy.within_seconds));
    }
  }

  [[nodiscard]] bool is_older(std::int64_t time_ns, std::int64_t newest_ns) const {
    if (time_ns >= newest_ns) return false;
    return static_cast<std::uint64_t>((newest_ns - time_ns) / k_second_ns) > m_policy.within_seconds;
  }

  const RetentionPolicy& m_policy;
  std::int64_t m_now_ns;
  std::vector<Decision> m_decisions;
};

}  // namespace

RetentionPolicy default_policy() {
  RetentionPolicy policy;
  policy.last = 7;
  policy.within_seconds = 30 * k_day_seconds;
  return policy;
}

std::string describe(const RetentionPolicy& policy) {
  std::string text;
  const auto add = [&text](const std::string& rule) { text += (text.empty() ? "" : ", ") + rule; };
  if (policy.last != 0) add("last " + count_text(policy.last));
  for (const PeriodRule& rule : k_period_rules) {
    const std::uint64_t count = policy.*rule.count;
    if (count != 0) add(std::string(rule.name) + " " + count_text(count));
  }
  if (policy.within_seconds != 0) add("within " + duration_text(policy.within_seconds));
  return text.empty() ? "the newest alone" : text;
}

Bytes encode(const SetPolicy& policy) {
  const RetentionPolicy& keep = policy.keep;
  TextRecordWriter out(k_title);
  out.number("version", policy.max_delete ? k_version : k_version_without_limit);
  out.line("last", count_text(keep.last));
  for (const PeriodRule& rule : k_period_rules) out.line(rule.name, count_text(keep.*rule.count));
  out.number("within", keep.within_seconds);
  if (policy.max_delete) out.line("max_delete", count_text(*policy.max_delete));
  return out.finish();
}

Result<SetPolicy> decode_policy(ByteView data) {
  NB_TRY_ASSIGN(TextRecordReader in, TextRecordReader::open(data, k_title));
  NB_TRY_ASSIGN(const std::uint64_t version, in.number("version"));
  if (version > k_version) return in.bad("made by a newer nbackup");
  if (version == 0) return in.bad("bad version");
  SetPolicy policy;
  RetentionPolicy& keep = policy.keep;
  NB_TRY_ASSIGN(keep.last, get_count(in, "last"));
  for (const PeriodRule& rule : k_period_rules) {
    NB_TRY_ASSIGN(keep.*rule.count, get_count(in, rule.name));
  }
  NB_TRY_ASSIGN(keep.within_seconds, in.number("within"));
  if (version > k_version_without_limit) {
    NB_TRY_ASSIGN(policy.max_delete, get_count(in, "max_delete"));
  }
  NB_TRY(in.finish());
  return policy;
}

std::vector<Decision> decide(const std::vector<DatedGeneration>& generations, const RetentionPolicy& policy,
                             std::int64_t now_ns) {
  return Decider(generations, policy, now_ns).decide();
}

}  // namespace nb::txn
