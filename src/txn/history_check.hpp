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

// The error of following `generation`'s list back, as a person is told it: which record, what cannot be had because of
// it, and what to do.
Error no_way_back(const Error& error, std::uint64_t generation, std::string_view record);

}  // namespace nb::txn
