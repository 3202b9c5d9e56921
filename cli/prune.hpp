// SPDX-License-Identifier: Apache-2.0
// prune and policy as they run where the file set lies (host_command.hpp), and the lines they write.
#pragma once

#include "cli/host_command.hpp"
#include "txn/prune.hpp"

namespace nb::cli {

Result<int> run_prune(const HostJob& job, session::CommandOutput& output, Clock& clock);
Result<int> run_policy(const HostJob& job, session::CommandOutput& output, Clock& clock);

// What a client that may only look at a set may do as well.
bool prune_only_looks(const Settings& settings);
bool policy_only_looks(const Settings& settings);

// A line a generation, oldest first: "keep     12  2026-11-30 02:10  newest, last 7".
std::string decisions_table(const std::vector<txn::Decision>& decisions);

// Whether a word of a policy was given.
bool names_policy(const Settings& settings);
// `before` with what the settings change of it.
txn::SetPolicy changed_policy(txn::SetPolicy before, const Settings& settings);
// The words of a policy among `given` (Settings::given), for an nbackup that is started elsewhere.
std::vector<std::string> policy_words(const std::vector<std::string>& given);

}  // namespace nb::cli
