// SPDX-License-Identifier: Apache-2.0
// rollback: makes an earlier generation the live tree of its set, as a new generation; so it can be rolled back too.
#pragma once

#include "cli/host_command.hpp"

namespace nb::cli {

// A push of the set's past into the set itself (host_command.hpp). Guards about what would go are lifted: what goes is
// what the user named, and history keeps it.
bool rollback_only_looks(const Settings& settings);  // a dry run
Result<int> run_rollback(const HostJob& job, session::CommandOutput& output, Clock& clock);

}  // namespace nb::cli
