// SPDX-License-Identifier: Apache-2.0
// What lies in a history, name by name, without its lists: how much it takes, and which files it shares with the live
// tree.
#pragma once

#include <functional>
#include <map>

#include "fs/directory.hpp"

namespace nb::txn {

// Visits every name below `top`, of directories too, in no order; descriptors do not grow with the depth. What cannot
// be looked into is passed over. False, with the rest left out, where that would be more than `most_names`, which goes
// down by each that was looked at.
bool for_each_kept_name(const fs::Directory& top, std::uint64_t& most_names,
                        const std::function<void(const fs::Stat&)>& visit);

// Names by inode, on the file system of the set.
using NameCounts = std::map<std::uint64_t, std::uint64_t>;

// Takes from `missing` the names that the kept generations of the set in `root` have, the newest first, until none are
// missing or `most_names` were looked at. An inode of which all have been found has 0.
void find_kept_names(const fs::Directory& root, std::uint64_t most_names, NameCounts& missing);

}  // namespace nb::txn
