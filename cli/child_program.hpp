// SPDX-License-Identifier: Apache-2.0
// Runs another program of this machine to its end: a user's hook, sendmail. Its standard output is our standard error,
// since ours may be a file's content or JSON; signals are to it what they would be without us.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace nb::cli {

struct ChildProgram {
  std::vector<std::string> argv;         // argv[0] is a path
  std::vector<std::string> environment;  // all of it, "NAME=value"
  std::string input;                     // what it reads from standard input
  std::chrono::milliseconds limit{0};    // SIGKILL after this; 0: none
};

// Nothing if it ended well; else why not: "ended with exit code 3", "ended with signal KILL", "start /x: ...". An
// interrupt of this process while it runs is passed on to it once, as SIGTERM.
std::optional<std::string> run_to_end(const ChildProgram& program, Clock& clock);

// This process's own environment, to be given on.
std::vector<std::string> inherited_environment();

}  // namespace nb::cli
