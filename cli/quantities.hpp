// SPDX-License-Identifier: Apache-2.0
// Amounts as people write and read them: rates, ages, sizes, durations. Pure; used by the option table and by every
// output form.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace nb::cli {

// --bwlimit, in rsync's forms: a number with an optional fraction; then B, K, M, G, T or P (of 1024, "KiB" likewise) or
// KB, MB, ... (of 1000), in either case; no letter means KiB. "+1" or "-1" at the end adds or takes one byte. 0 is no
// limit. Errc::usage otherwise, and for less than 512 bytes a second.
Result<std::uint64_t> parse_rate(std::string_view text);

// The same units for a number of bytes; no letter means bytes. Errc::usage otherwise.
Result<std::uint64_t> parse_size(std::string_view text);

// "90s", "30m", "26h", "3d", "2w". Errc::usage otherwise, and for a number without a letter, unless it is 0: who writes
// 26 may mean hours.
Result<std::chrono::seconds> parse_age(std::string_view text);

// A whole number of seconds, up to ten years. Errc::usage otherwise.
Result<std::chrono::seconds> parse_seconds(std::string_view text);

// A whole number with or without a sign, as a compression level is one. Errc::usage otherwise.
Result<int> parse_level(std::string_view text);

// "0 B", "999 B", "4.2 MiB": at most three digits before the unit, one after the point below 100.
std::string format_bytes(std::uint64_t bytes);
// "1,234,567".
std::string format_count(std::uint64_t count);
// "1 file" / "2 files" / "2 entries": `many` unless count is 1.
std::string format_counted(std::uint64_t count, std::string_view one, std::string_view many);
// "00:02", "12:34:56".
std::string format_elapsed(std::chrono::seconds duration);
// "12s", "4m", "2h 05m", "3d 04h".
std::string format_age(std::chrono::seconds age);

}  // namespace nb::cli
