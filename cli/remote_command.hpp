// SPDX-License-Identifier: Apache-2.0
// init and recover work on a set where it lies; for host:DIR they are started there.
#pragma once

#include <string>
#include <vector>

#include "cli/settings.hpp"
#include "ssh/destination.hpp"

namespace nb::cli {

// Runs `nbackup WORDS...` on `host`, passes its output on and returns its exit code, or that of the connection's error.
int run_on_host(const Settings& settings, const ssh::Host& host, const std::vector<std::string>& words);

}  // namespace nb::cli
