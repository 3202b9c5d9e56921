// SPDX-License-Identifier: Apache-2.0
// heal as it runs where the file set lies (host_command.hpp), and the lines it writes.
#pragma once

#include "cli/host_command.hpp"

namespace nb::cli {

Result<int> run_heal(const HostJob& job, session::CommandOutput& output, Clock& clock);

// What a client that may only look at a set may do as well.
bool heal_only_looks(const Settings& settings);

}  // namespace nb::cli
