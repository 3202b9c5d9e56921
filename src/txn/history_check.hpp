// SPDX-License-Identifier: Apache-2.0
// Which of the kept generations can still be restored, as far as the set's own records go: whether the lists of changes
// lead back to them. (What a list leads to, a kept file, is each restore's to find.)
#pragma once

#include <optional>
#include <vector>

#include "txn/history.hpp"

namespace nb::txn {

struct HistoryCheck {
  std::vector<std::uint64_t> lost;  // kept, but nothing leads back to them any more; newest first
  std::optional<Error> damage;      // why: names the record
};

// Reads every list whole, as a restore of the oldest generation does. Errors are those of reading the directory alone.
Result<HistoryCheck> check_history(FileSet& set);

// Errc::bad_set where the set lacks its live generation (History::lacks_live): a commit would make its account anew,
// without the way back.
Status check_live_account(FileSet& set);
// Notes that the set has its live generation, if it does, so that a loss of the whole history shows from then on. Where
// that fails the next run tries again: a full disk, say, is no reason to refuse what may make room. The caller has the
// writer's lock.
void note_past(FileSet& set);

// That error, of live generation `live`.
Error no_live_account(std::uint64_t live);

// The error of the way back from `generation`, as a person is told it: what is damaged, and what cannot be had because
// of it. `error` names the record, as those of its account do; those of its list come through in_changes().
Error no_way_back(Error error, std::uint64_t generation);
Error in_changes(Error error, std::uint64_t generation);

}  // namespace nb::txn
