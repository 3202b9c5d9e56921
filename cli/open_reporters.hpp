// SPDX-License-Identifier: Apache-2.0
// The reporters that the settings ask for: the terminal's always, JSON's, the log file's, and the one that notes an
// Outcome.
#pragma once

#include "base/clock.hpp"
#include "cli/reporter.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

// Adds them to `group`. Errc::usage for a log file that cannot be opened; those before it are there then.
Status open_reporters(const Settings& settings, Clock& clock, ReporterGroup& group);

}  // namespace nb::cli
