// SPDX-License-Identifier: Apache-2.0
// What hooks, pings and mails are told of a run: the environment of a hook, and the lines of a message. Pure.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "cli/outcome.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

// A command that has ended.
struct Finished {
  int exit_code = 0;
  std::chrono::seconds elapsed{0};
  const Outcome& outcome;
};

// The arguments as the user wrote them: what the command works on is the last one, the others are its sources.
std::string destination_of(const Settings& settings);
std::string sources_of(const Settings& settings);  // one a line

// `inherited` without what a hook's own variables are named, and those that apply: nbackup(1), "Hooks". `finished` is
// null before the run.
std::vector<std::string> hook_environment(const Settings& settings, std::string_view hook, const Finished* finished,
                                          std::vector<std::string> inherited);

// "push /data to rpi4:/pool".
std::string run_title(const Settings& settings);

// The lines of a message about a run that has ended: what was done, what ended it, problems, exit code.
std::string report_lines(const Settings& settings, const Finished& finished);

}  // namespace nb::cli
