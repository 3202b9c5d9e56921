// SPDX-License-Identifier: Apache-2.0
// Writing what is left of several change lists as one.
#pragma once

#include "txn/kept_trees.hpp"
#include "txn/merge_lists.hpp"

namespace nb::txn {

// Makes `directory`/changes.new, in which everything stands in the order in which it was said, so that each path leads
// to the same inode as it did then. `directory` is the entry of the generation that `header` names; an inode that loses
// its path gets a name as an anchor there if it has others.
Status write_merged_list(KeptTrees& trees, fs::Directory& directory, const ChangesHeader& header,
                         const MergedLists& lists);

}  // namespace nb::txn
