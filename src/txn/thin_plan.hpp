// SPDX-License-Identifier: Apache-2.0
// What dropping a run of neighbouring generations comes to: the change list that the surviving one gets, and what has
// to move in history. Called by thin.cpp, under the writer's lock; nothing that anybody reads changes here.
#pragma once

#include <vector>

#include "txn/kept_trees.hpp"
#include "txn/merge_lists.hpp"
#include "txn/thin_record.hpp"

namespace nb::txn {

// Kept generations that stand next to each other: the first survives, the others go. Newest first.
struct ThinRun {
  std::uint64_t survivor = 0;
  std::vector<std::uint64_t> dropped;
  bool to_the_oldest = false;  // none of those that are kept is older
};

struct ThinPlan {
  std::vector<ThinOp> ops;  // begin with the Merge
  std::size_t dropped = 0;  // how many of the run, from its beginning; the rest is for another time
};

// More than this many paths are not held in memory at once for one survivor, nor more generations merged.
inline constexpr std::size_t k_most_paths_at_once = 1'000'000;
inline constexpr std::size_t k_most_dropped_at_once = 1000;

// Reads the lists and writes changes.new and generation.new of the survivor, and the anchors that the new list needs;
// not durable yet. `next_slot` is the first free slot of the trash. Errors leave everything as it was but for these
// files.
Result<ThinPlan> plan_thinning(fs::Directory& history, const ThinRun& run, std::uint64_t& next_slot);

}  // namespace nb::txn
