// SPDX-License-Identifier: Apache-2.0
// The part of a scrub that looks at the records of history: each kept generation's account and list of changes, and
// that what the list says is kept is there.
#pragma once

#include "session/scrub.hpp"

namespace nb::session {

// How many are damaged or missing; each is told. Takes a reader's lock, and lets commits in between generations: one list
// alone is read without a break.
Result<std::uint64_t> check_records(txn::FileSet& set, ScrubObserver& observer, Clock& clock);

}  // namespace nb::session
