// SPDX-License-Identifier: Apache-2.0
// Where the file set of a destination is: found by walking up from it, as git finds its repository.
#pragma once

#include <optional>
#include <string>

#include "fs/directory.hpp"
#include "txn/file_set.hpp"

namespace nb::txn {

struct Located {
  std::string root_path;                // absolute, of the set's root, or of the directory asked for where there is none
  std::unique_ptr<fs::Directory> root;
  RelPath below;                        // the directory asked for, seen from root
  bool is_set = false;
};

// `path` names a directory (symlinks in it are followed). The walk stops at a change of file system or subvolume, at
// `stop_at` (an absolute real path, from serve --root), and passes over a `.nbackup` that the effective user does not
// own. Errc::not_found if `path` is not there.
Result<Located> locate_set(const std::string& path, const std::optional<std::string>& stop_at);

}  // namespace nb::txn
