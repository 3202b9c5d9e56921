// SPDX-License-Identifier: Apache-2.0
// prune as it runs where the file set lies (host_command.hpp), and the lines it writes.
#pragma once

#include "cli/host_command.hpp"
#include "txn/prune.hpp"

namespace nb::cli {

Result<int> run_prune(const HostJob& job, session::CommandOutput& output, Clock& clock);

// What a client that may only look at a set may do as well.
bool prune_only_looks(const Settings& settings);

// A line a generation, oldest first: "keep     12  2026-11-30 02:10  newest, last 7".
std::string decisions_table(const std::vector<txn::Decision>& decisions);

}  // namespace nb::cli
