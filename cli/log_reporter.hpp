// SPDX-License-Identifier: Apache-2.0
// --log-file: one line with time and process id for everything that happens, appended to a file (spdlog).
#pragma once

#include <memory>

#include "base/result.hpp"
#include "cli/reporter.hpp"

namespace nb::cli {

// Opens the file for appending; a missing one is made. Errc::usage with the reason where that fails: a run whose log
// cannot be written should not start.
Result<std::unique_ptr<Reporter>> open_log_reporter(const std::string& path);

}  // namespace nb::cli
