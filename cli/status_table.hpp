// SPDX-License-Identifier: Apache-2.0
// What `status` shows: the sets this client knows, how old their last push is, and whether that is too old. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "cache/client_state.hpp"
#include "cache/set_reports.hpp"

namespace nb::cli {

struct StatusRow {
  cache::KnownSet set;
  std::optional<std::chrono::seconds> age;             // unset: no push has succeeded yet
  bool stale = false;                                  // older than the limit, or no push at all where there is a limit
  cache::SetReport report = {};                        // what else is known of the set
  std::optional<std::chrono::seconds> scrub_age = {};  // unset: never, or not known
  std::optional<std::chrono::seconds> drill_age = {};
};

// A push "in the future" (the clock was set back) has age 0.
std::vector<StatusRow> status_rows(std::vector<cache::KnownSet> sets, WallTime now,
                                   std::optional<std::chrono::seconds> max_age);

// Adds what is known beside pushes.
void add_report(const cache::SetReport& report, WallTime now, StatusRow& row);

// One heading and one line a row, columns aligned, times in the local zone; each line ended by a newline.
// History, scrub and drill have columns where anything is known of them.
std::string status_table(const std::vector<StatusRow>& rows);
// The same with a few lines for each row, for where the table is too wide.
std::string status_blocks(const std::vector<StatusRow>& rows);
// The widest line of `text`, in bytes.
std::size_t width_of(std::string_view text);

// Which of the known destinations `argument` means: one that is typed as for push (whose key is `key`), or copied from
// what status has printed. Nothing if none.
std::optional<std::string> known_destination(const std::vector<cache::KnownSet>& sets, const std::string& argument,
                                             const std::string& key);
// The destinations that are too old and how old they are: "h:/p (3d 02h), h:/q (never)".
std::string stale_destinations(const std::vector<StatusRow>& rows);

// "2026-11-30 02:10" in the local zone.
std::string local_time(std::int64_t time_ns);

}  // namespace nb::cli
