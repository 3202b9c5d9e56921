// SPDX-License-Identifier: Apache-2.0
// WHEN: how a user names an earlier state of a file set (--at, --from, --to). Pure but for the time zone (TZ).
#pragma once

#include <string>
#include <string_view>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "wire/messages.hpp"

namespace nb::cli {

// "7" or "#7": a generation by its number. "latest". All others are times, which the side that has the set resolves to
// the newest generation that was committed by then: "-30m", "-12h", "-3d", "-2w" before `now`; "yesterday", which is
// the end of that day; "@1796000000" or "@1796000000.5", seconds since 1970, as date(1) has it; "2026-11-30",
// "2026-11-30T14:05" and "2026-11-30T14:05:59" (or with a blank for the T), local time. What is left out of a time counts
// to its end: a date alone is the end of that day, so that what a list shows finds its generation. Errc::usage for
// anything else, and for times before 1970.
Result<wire::Moment> parse_when(std::string_view text, WallTime now);

// A WHEN that means the same at any other time and in any other zone.
std::string when_text(const wire::Moment& moment);

}  // namespace nb::cli
