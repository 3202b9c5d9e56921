// SPDX-License-Identifier: Apache-2.0
// What a path means in a tree that is given by its root: one entry, or all that match where it has patterns. No symlink
// on the way is followed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fs/directory.hpp"

namespace nb::session {

// How many entries a pattern may stand for.
inline constexpr std::size_t k_max_matches = 10'000;

struct PastEntry {
  std::shared_ptr<fs::Directory> directory;  // that has it; entries of one directory share it
  RelPath directory_path;                    // below the root
  std::string name;
  fs::FileType type = fs::FileType::regular;
};

struct PastEntries {
  std::vector<PastEntry> entries;  // not empty
  bool by_pattern = false;
};

// `path` is not the root. A component that is no entry's name and has '*', '?' or '[' is a pattern (name_pattern.hpp).
// Entries come in the order of their names. Errc::not_found if nothing is there or matches; Errc::path if the way leads
// through something that is no directory, or if more than k_max_matches match.
Result<PastEntries> look_up(const std::shared_ptr<fs::Directory>& root, const RelPath& path);

}  // namespace nb::session
