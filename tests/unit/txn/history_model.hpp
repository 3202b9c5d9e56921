// SPDX-License-Identifier: Apache-2.0
// Histories as a run of commits leaves them, made up by chance: a live tree that changes in steps, each filed as a
// generation, with a full description of the tree after each step taken from the live tree itself. And a reader of
// history that follows docs/formats.md word by word and uses nothing of src/txn but the parsers of its records.
#pragma once

#include <map>
#include <random>

#include "fs/sim_directory.hpp"
#include "tree.hpp"

namespace nb::txn::test {

// By generation.
using Described = std::map<std::uint64_t, Tree>;

struct ModelOptions {
  std::uint64_t seed = 1;
  std::uint64_t steps = 8;
  fs::SimOptions disk;
  bool lossy = false;  // somebody else is at work in the tree and in history
};

// A set with generations 0 to `steps`, all of them kept.
struct Model {
  explicit Model(const ModelOptions& options);
  fs::SimFileSystem disk;
  Described described;
  bool is_lossy = false;
};

// Which generations are kept, oldest first.
std::vector<std::uint64_t> kept_generations(const fs::SimFileSystem& disk);
// The tree of a kept generation, as the lists give it back. Modes that bar the way are no obstacle to it.
Tree read_past(const fs::SimFileSystem& disk, std::uint64_t generation, bool lossy = false);
// What is wrong with what is kept: empty if every kept generation reads back as described, and nothing is kept that
// nothing leads to. What was lost is a symlink to "lost".
std::string judge_history(const fs::SimFileSystem& disk, const Model& model);

}  // namespace nb::txn::test
