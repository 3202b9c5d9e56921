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

enum Column : std::size_t { destination, source, last_push, age, generation, exit_code, history, scrub, drill, count };
using Line = std::array<std::string, Column::count>;

Line heading() {
  return {"DESTINATION", "SOURCE", "LAST PUSH", "AGE", "GENERATION", "EXIT", "HISTORY", "SCRUB", "DRILL"};
}

std::string shown_source(const std::string& key) {
  std::string text;
  for (const std::string_view one : split(key, '\n')) {
    if (!text.empty()) text += ' ';
    text += escape(one);
  }
  return text;
}

std::string shown_age(const std::optional<std::chrono::seconds>& age) { return age ? format_age(*age) : "never"; }

Line line_of(const StatusRow& row) {
  const bool pushed = row.set.last_push_ns != 0;
  const auto& [facts, drilled] = row.report;
  return {escape(row.set.destination),
          shown_source(row.set.source),
          pushed ? local_time(row.set.last_push_ns) : "never",
          row.age ? format_age(*row.age) + (row.stale ? " !" : "") : "-",
          row.set.generation != 0 ? format_count(row.set.generation) : "-",
          std::to_string(row.set.last_exit) + (row.set.last_exit != 0 ? " !" : ""),
          facts ? format_bytes(facts->history_bytes) : "-",
          facts ? shown_age(row.scrub_age) + (facts->damaged_files != 0 ? " !" : "") : "-",
          drilled ? shown_age(row.drill_age) + (drilled->exit_code != 0 ? " !" : "") : "-"};
}

// The last columns are new to most people: they stand there once there is something in them.
bool is_shown(Column column, const std::vector<StatusRow>& rows) {
  return std::any_of(rows.begin(), rows.end(), [column](const StatusRow& row) {
    if (column == history) return row.report.facts.has_value();
    if (column == scrub) return row.scrub_age || (row.report.facts && row.report.facts->damaged_files != 0);
    return column == drill ? row.report.drill.has_value() : true;
  });
}

std::vector<Column> shown_columns(const std::vector<StatusRow>& rows) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < Column::count; ++i) {
    if (is_shown(static_cast<Column>(i), rows)) columns.push_back(static_cast<Column>(i));
  }
  return columns;
}

std::string history_text(const cache::SetFacts& facts) {
  return fmt::format("{} in {}", format_bytes(facts.history_bytes),
                     format_counted(facts.history_generations, "generation", "generations"));
}

std::string scrub_text(const StatusRow& row) {
  const cache::SetFacts& facts = *row.report.facts;
  std::string text = "never";
  if (row.scrub_age) text = local_time(facts.last_scrub_ns) + ", age " + format_age(*row.scrub_age);
  if (facts.damaged_files == 0) return text;
  return text + "; " + format_counted(facts.damaged_files, "damaged file", "damaged files") + " !";
}

std::string drill_text(const StatusRow& row) {
  const cache::DrillRecord& drilled = *row.report.drill;
  const std::string end = drilled.exit_code == 0 ? "good" : fmt::format("exit code {} !", drilled.exit_code);
  return fmt::format("{}, age {}; {}, {}", local_time(drilled.time_ns), shown_age(row.drill_age),
                     format_counted(drilled.files, "file", "files"), end);
}

// A time "in the future" (the clock was set back) has age 0.
std::chrono::seconds age_at(WallTime now, std::int64_t time_ns) {
  const auto since = now - WallTime(std::chrono::nanoseconds(time_ns));
  return std::max(std::chrono::seconds(0), std::chrono::floor<std::chrono::seconds>(since));
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
    if (row.set.last_push_ns != 0) row.age = age_at(now, row.set.last_push_ns);
    row.stale = max_age && (!row.age || *row.age > *max_age);
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_report(const cache::SetReport& report, WallTime now, StatusRow& row) {
  row.report = report;
  if (report.facts && report.facts->last_scrub_ns != 0) row.scrub_age = age_at(now, report.facts->last_scrub_ns);
  if (report.drill) row.drill_age = age_at(now, report.drill->time_ns);
}

std::string status_table(const std::vector<StatusRow>& rows) {
  std::vector<Line> lines{heading()};
  for (const StatusRow& row : rows) lines.push_back(line_of(row));
  const std::vector<Column> columns = shown_columns(rows);
  std::array<std::size_t, Column::count> widths{};
  for (const Line& line : lines) {
    for (const Column column : columns) widths.at(column) = std::max(widths.at(column), line.at(column).size());
  }
  std::string text;
  for (const Line& line : lines) {
    std::string one;
    for (const Column column : columns) one += fmt::format("{:<{}}  ", line.at(column), widths.at(column));
    one.erase(one.find_last_not_of(' ') + 1);
    text += one + "\n";
  }
  return text;
}

std::string status_blocks(const std::vector<StatusRow>& rows) {
  std::string text;
  for (const StatusRow& row : rows) {
    const Line line = line_of(row);
    text += fmt::format("{}\n  source      {}\n  last push   {}, age {}\n  generation  {}\n  exit        {}\n",
                        line[destination], line[source], line[last_push], line[age], line[generation], line[exit_code]);
    if (row.report.facts) {
      text += fmt::format("  history     {}\n  last scrub  {}\n", history_text(*row.report.facts), scrub_text(row));
    }
    if (row.report.drill) text += fmt::format("  last drill  {}\n", drill_text(row));
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
