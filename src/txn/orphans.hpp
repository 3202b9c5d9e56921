// SPDX-License-Identifier: Apache-2.0
// Orphans: what a commit that was being applied had replaced, whose journal somebody, or a failing disk, has taken away.
// It lies in old/ of its stage, where nothing says under which names any more, or, once filed, under its names in files/
// of a generation that was not finished. Neither must pass for trash.
#pragma once

#include <string>
#include <vector>

#include "txn/lock.hpp"

namespace nb::txn {

inline constexpr std::string_view k_orphans_name = "lost";

struct Orphan {
  RelPath place;        // below .nbackup: a stage that `head` does not know as committed, or the generation after it
  std::string content;  // what it has there: old or files
};

// For sets without a journal.
Result<std::vector<Orphan>> find_orphans(FileSet& set);
// Moves them to `.nbackup/lost/`, where nothing touches them; with their places there.
Result<std::vector<Orphan>> set_aside_orphans(FileSet& set, const WriterLock& lock);

}  // namespace nb::txn
