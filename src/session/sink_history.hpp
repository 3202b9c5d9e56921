// SPDX-License-Identifier: Apache-2.0
// What a sink does about earlier generations once a run has committed: the one before goes where the run keeps no
// history of it, and those that the set's policy does not keep. Part of no run's success: what goes wrong here is told
// and left for the next time.
#pragma once

#include <functional>
#include <string>

#include "session/sink_setup.hpp"

namespace nb::session {

enum class RunHistory : std::uint8_t { kept, not_wanted };

// What the result tells of a set that lasts, before anything is dropped. Costs little: what is not known yet and would
// take long to find out is not told.
void describe_set(txn::FileSet& set, wire::RunResult& result);

// After the transaction's clean_up. `committed`: of a run that changed something. `warn` gets a line for each trouble.
void settle_history(SinkSetup& setup, const wire::RunResult& committed, RunHistory history,
                    const std::function<void(const std::string&)>& warn, Clock& clock);

}  // namespace nb::session
