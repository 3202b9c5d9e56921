// SPDX-License-Identifier: Apache-2.0
// What `status` shows: the sets this client knows, how old their last push is, and whether that is too old. Pure.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cache/client_state.hpp"

namespace nb::cli {

struct StatusRow {
  cache::KnownSet set;
  std::optional<std::chrono::seconds> age;  // unset: no push has succeeded yet
  bool stale = false;                       // older than the limit, or no push at all where there is a limit
};

// A push "in the future" (the clock was set back) has age 0.
std::vector<StatusRow> status_rows(std::vector<cache::KnownSet> sets, WallTime now,
                                   std::optional<std::chrono::seconds> max_age);

// One heading and one line a row, columns aligned, times in the local zone; each line ended by a newline.
std::string status_table(const std::vector<StatusRow>& rows);

// "2026-11-30 02:10" in the local zone.
std::string local_time(std::int64_t time_ns);

}  // namespace nb::cli
