// SPDX-License-Identifier: Apache-2.0
// The kinds of simulated disk that transactions are tried on.
#pragma once

#include "fs/sim_directory.hpp"

namespace nb::txn::test {

inline fs::SimOptions plain() { return {}; }
inline fs::SimOptions as_user() { return {.enforce_modes = true}; }
inline fs::SimOptions without_links() { return {.hard_links = false}; }
inline fs::SimOptions without_reports() { return {.reports_sync_errors = false}; }
inline fs::SimOptions without_lasting_numbers() { return {.numbers_last = false}; }
inline fs::SimOptions with_moves_in_two_steps() { return {.moves_at_once = false}; }

}  // namespace nb::txn::test
