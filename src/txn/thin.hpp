// SPDX-License-Identifier: Apache-2.0
// Thinning: dropping kept generations so that all others stay exactly what they are. What a dropped generation leads
// back to is merged into the next newer one: into its change list, and into the files that it keeps. docs/formats.md
// has the rules, and what a crash at any step leaves.
#pragma once

#include <chrono>
#include <vector>

#include "txn/lock.hpp"

namespace nb::txn {

struct ThinOptions {
  std::chrono::seconds wait_readers{60};
  GoOn go_on;  // asked between the steps that change nothing yet; may be empty
};

struct ThinReport {
  struct Problem {
    std::uint64_t generation = 0;  // the newest of those that stay because of it
    Error error;
  };
  std::vector<std::uint64_t> dropped;  // newest first
  std::vector<Problem> problems;
  Status emptied;  // what keeps the space of dropped generations from being given back
};

// Drops these generations, in any order; neighbours go in one pass, however many they are. Needs a set without an
// interrupted commit (recover). What cannot be dropped stays, with everything it needs, and is among the problems; an
// error says that no more was done: Errc::not_found if one of them is not kept, Errc::usage if one is the live
// generation, Errc::readers_busy, Errc::interrupted; Errc::in_doubt if the next recovery has to finish what was begun.
// The space is given back at the end, one entry after the other; so is what a crash has kept an earlier call from
// giving back.
Result<ThinReport> drop_generations(FileSet& set, const WriterLock& lock, Clock& clock,
                                    const std::vector<std::uint64_t>& numbers, const ThinOptions& options = {});

// Completes what was interrupted; true if there was anything. Part of recover(). Errc::recovery_failed if it cannot be:
// then it stands, and history cannot be read until it can.
Result<bool> finish_thinning(FileSet& set, const WriterLock& lock, Clock& clock, const GoOn& go_on = {});
// Whether something was interrupted.
Result<bool> is_thinning(FileSet& set);

}  // namespace nb::txn
