// SPDX-License-Identifier: Apache-2.0
// Prune: a set's policy, and what it comes to for the generations that are there.
#pragma once

#include <optional>

#include "txn/retention.hpp"
#include "txn/thin.hpp"

namespace nb::txn {

// Nothing if none was set: then the default holds. Errc::bad_set if it is damaged.
Result<std::optional<SetPolicy>> read_policy(FileSet& set);
// The one that holds.
Result<SetPolicy> policy_of(FileSet& set);
// Durable, in one step; nothing: the default holds from now on.
Status write_policy(FileSet& set, const WriterLock& lock, const std::optional<SetPolicy>& policy);

// What `policy` says of every kept generation, oldest first; reads all of their accounts. The newest is kept whatever
// it says. A generation whose account is damaged stays.
Result<std::vector<Decision>> judge_generations(FileSet& set, const RetentionPolicy& policy, Clock& clock);
// Those that can be restored no more (history_check.hpp) go, whatever the policy says of them.
Status drop_lost(FileSet& set, std::vector<Decision>& decisions);
// The numbers of those that go.
std::vector<std::uint64_t> dropped_by(const std::vector<Decision>& decisions);

// Applies the set's policy, the default where there is none, after a commit. A set of many generations is not looked
// through each time: its commits would take ever longer. There it is done when one in eight is new, or once a day
// (history/judged says when it was; docs/formats.md). Ephemeral sets have no history: nothing is done.
Result<ThinReport> prune_after_commit(FileSet& set, const WriterLock& lock, Clock& clock,
                                      const ThinOptions& options = {});

// After a commit of a run whose predecessor is not to be kept: the generation before the live one goes, exactly as by a
// prune, so that earlier ones stay what they are.
Result<ThinReport> drop_predecessor(FileSet& set, const WriterLock& lock, Clock& clock,
                                    const ThinOptions& options = {});

}  // namespace nb::txn
