// SPDX-License-Identifier: Apache-2.0
// Orphans: stages of a commit that was being applied and whose journal somebody, or a failing disk, has taken away. What
// it had replaced lies in their old/, and nothing says under which names any more: they must not pass for trash.
#pragma once

#include <string>
#include <vector>

#include "txn/lock.hpp"

namespace nb::txn {

inline constexpr std::string_view k_orphans_name = "lost";

// Names of stages with something in old/ that `head` does not know as committed. For sets without a journal.
Result<std::vector<std::string>> find_orphans(FileSet& set);
// Moves them to `.nbackup/lost/`, where nothing touches them; their names.
Result<std::vector<std::string>> set_aside_orphans(FileSet& set, const WriterLock& lock);

}  // namespace nb::txn
