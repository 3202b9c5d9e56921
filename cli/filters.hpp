// SPDX-License-Identifier: Apache-2.0
// The filter options of the command line as the rules of a job.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

// In order; --exclude-from files are read here ("-" is standard input). Errc::usage names the rule; a file that cannot
// be read is what errno says.
Result<std::vector<std::string>> job_filter_rules(const std::vector<FilterOption>& filters);

}  // namespace nb::cli
