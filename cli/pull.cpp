// SPDX-License-Identifier: Apache-2.0
// pull: a transfer whose source is the other end. The client remembers contents, no set.
#include "cli/commands.hpp"
#include "cli/transfer.hpp"

namespace nb::cli {

int run_pull(const Settings& settings, Clock& clock) { return run_plain_transfer(settings, clock); }

}  // namespace nb::cli
