// SPDX-License-Identifier: Apache-2.0
// What is done around a command for those who want to hear of it: the hooks --before, --after and --on-failure,
// --ping-url and --mail-on-change. main() runs every command through here; which ones have the options is said in the
// option table, and what they have to tell they note in Settings::outcome.
#pragma once

#include "base/clock.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

using CommandRunner = int (*)(const Settings& settings, Clock& clock);

// Whether any of that was asked for.
bool wants_reports(const Settings& settings);

// Runs `command` and what belongs around it; the process's exit code. That is the command's, or that of
// Errc::hook_failed where --before ended it before it began or --after went wrong.
int run_reported(const Settings& settings, Clock& clock, CommandRunner command);

}  // namespace nb::cli
