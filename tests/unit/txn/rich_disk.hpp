// SPDX-License-Identifier: Apache-2.0
// The rich trees on a simulated disk, for tests that disturb a commit.
#pragma once

#include "fs/sim_directory.hpp"
#include "tree.hpp"

namespace nb::txn::test {

inline fs::SimFileSystem rich_disk(fs::SimOptions options = {}) {
  fs::SimFileSystem disk(options);
  make_set(disk.root(), rich_old(), rich_untouched());
  return disk.after_crash(fs::CrashChoice::keep_all());
}

inline Result<CommitOutcome> change(fs::SimFileSystem& disk, std::uint8_t number = 2) {
  return run(disk.root(), rich_new(), rich_untouched(), tx_id(number));
}

inline bool is_tree(const fs::SimFileSystem& disk, const Tree& expected) {
  const auto root = disk.root();
  return read_tree(*root, expected, rich_untouched()) == expected;
}

// Fault or edit at the moment when the journal gets its name.
template <class Action>
void at_commit_point(fs::SimFileSystem& disk, Action action) {
  disk.on_operation([action](const fs::SimEvent& event) mutable {
    if (event.kind == fs::SimOperation::rename && event.new_path == ".nbackup/journal") action(event);
  });
}

}  // namespace nb::txn::test
