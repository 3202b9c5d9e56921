// SPDX-License-Identifier: Apache-2.0
// verify: the same exchange as push or pull, comparing contents and changing nothing. What differs is listed.
#include "cli/commands.hpp"
#include "cli/transfer.hpp"

namespace nb::cli {

int run_verify(const Settings& settings, Clock& clock) { return run_plain_transfer(settings, clock); }

}  // namespace nb::cli
