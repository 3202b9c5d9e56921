// SPDX-License-Identifier: Apache-2.0
// policy as it runs where the file set lies (host_command.hpp), and the words that make a policy, which init takes too.
#pragma once

#include "cli/host_command.hpp"
#include "txn/retention.hpp"

namespace nb::cli {

Result<int> run_policy(const HostJob& job, session::CommandOutput& output, Clock& clock);
// What a client that may only look at a set may do as well.
bool policy_only_looks(const Settings& settings);

// Whether a word of a policy was given.
bool names_policy(const Settings& settings);
// `before` with what the settings change of it.
txn::SetPolicy changed_policy(txn::SetPolicy before, const Settings& settings);
// The words of a policy among `given` (Settings::given), for an nbackup that is started elsewhere.
std::vector<std::string> policy_words(const std::vector<std::string>& given);

}  // namespace nb::cli
