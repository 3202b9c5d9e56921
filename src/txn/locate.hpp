// SPDX-License-Identifier: Apache-2.0
// Where the file set of a destination is: found by walking up from it, as git finds its repository.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fs/directory.hpp"
#include "fs/path_root.hpp"
#include "txn/file_set.hpp"

namespace nb::txn {

struct Located {
  std::string root_path;  // absolute, of the set's root, or of the directory asked for where there is none
  std::unique_ptr<fs::Directory> root;
  RelPath below;  // the directory asked for, seen from root, by the names that are listed
  bool is_set = false;
  std::optional<std::uint32_t> passed_over;  // where there is none: who owns one that was passed over
};

// Whether the directory at `path` in `tree` is the root of a file set. A `.nbackup` that is empty, or no directory, makes
// none; one that cannot be looked into does.
bool is_set(const fs::Directory& tree, const RelPath& path);

// Climbs from `directory`, which `bounds` has opened. The walk stops at another mount or subvolume and at the confining
// directory, and passes over a `.nbackup` that the effective user does not own; for root such a one is Errc::path, and
// so is what lies in a control directory, by whatever name of it.
Result<Located> locate_set(const fs::PathRoot& bounds, std::unique_ptr<fs::Directory> directory);
// The same from a path string (symlinks in it are followed). Errc::not_found if it is not there.
Result<Located> locate_set(const std::string& path, const std::optional<std::string>& stop_at);

}  // namespace nb::txn
