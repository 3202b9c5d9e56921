// SPDX-License-Identifier: Apache-2.0
#include "cli/status_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <set>

#include "base/text.hpp"
#include "cli/quantities.hpp"

namespace nb::cli {
namespace {

using Line = std::array<std::string, 6>;

std::string shown_source(const std::string& key) {
  std::string text;
  for (const std::string_view one : split(key, '\n')) {
    if (!text.empty()) text += ' ';
    text += escape(one);
  }
  return text;
}

Line line_of(const StatusRow& row) {
  const bool pushed = row.set.last_push_ns != 0;
  return {escape(row.set.destination),
          shown_source(row.set.source),
          pushed ? local_time(row.set.last_push_ns) : "never",
          row.age ? format_age(*row.age) + (row.stale ? " !" : "") : "-",
          pushed ? format_count(row.set.generation) : "-",
          std::to_string(row.set.last_exit)};
}

}  // namespace

std::string local_time(std::int64_t time_ns) {
  const std::time_t seconds = static_cast<std::time_t>(time_ns / 1'000'000'000);
  std::tm parts{};
  std::array<char, 32> text{};
  if (::localtime_r(&seconds, &parts) == nullptr) return "?";
  const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &parts);
  return {text.data(), size};
}

std::vector<StatusRow> status_rows(std::vector<cache::KnownSet> sets, WallTime now,
                                   std::optional<std::chrono::seconds> max_age) {
  std::vector<StatusRow> rows;
  for (cache::KnownSet& set : sets) {
    StatusRow row{std::move(set), std::nullopt, false};
    if (row.set.last_push_ns != 0) {
      const auto since = now - WallTime(std::chrono::nanoseconds(row.set.last_push_ns));
      row.age = std::max(std::chrono::seconds(0), std::chrono::floor<std::chrono::seconds>(since));
    }
    row.stale = max_age && (!row.age || *row.age > *max_age);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string status_table(const std::vector<StatusRow>& rows) {
  std::vector<Line> lines{{"DESTINATION", "SOURCE", "LAST PUSH", "AGE", "GENERATION", "EXIT"}};
  for (const StatusRow& row : rows) lines.push_back(line_of(row));
  std::array<std::size_t, 6> widths{};
  for (const Line& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths.at(i) = std::max(widths.at(i), line.at(i).size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string one;
    for (std::size_t i = 0; i < line.size(); ++i) one += fmt::format("{:<{}}  ", line.at(i), widths.at(i));
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + "\n";
  }
  return text;
}

std::string status_blocks(const std::vector<StatusRow>& rows) {
  std::string text;
  for (const StatusRow& row : rows) {
    const Line line = line_of(row);
    text += fmt::format("{}\n  source      {}\n  last push   {}, age {}\n  generation  {}\n  exit        {}\n", line[0],
                        line[1], line[2], line[3], line[4], line[5]);
  }
  return text;
}

std::size_t width_of(std::string_view text) {
  std::size_t widest = 0;
  for (const std::string_view line : split(text, '\n')) widest = std::max(widest, line.size());
  return widest;
}

std::optional<std::string> known_destination(const std::vector<cache::KnownSet>& sets, const std::string& argument,
                                             const std::string& key) {
  // What was typed comes first: a name may look like another one that is printed.
  for (const cache::KnownSet& set : sets) {
    if (set.destination == key) return set.destination;
  }
  for (const cache::KnownSet& set : sets) {
    if (escape(set.destination) == argument) return set.destination;
  }
  return std::nullopt;
}

std::string stale_destinations(const std::vector<StatusRow>& rows) {
  std::string names;
  std::set<std::string> seen;
  for (const StatusRow& row : rows) {
    if (!row.stale || !seen.insert(row.set.destination).second) continue;
    const std::string age = row.age ? format_age(*row.age) : "never";
    names += (names.empty() ? "" : ", ") + row.set.destination + " (" + age + ")";
  }
  return names;
}

}  // namespace nb::cli
