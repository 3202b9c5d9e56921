// SPDX-License-Identifier: Apache-2.0
// The names of file systems that hold some that differ to be one: by the case of letters, by how a letter is composed,
// or, on FAT and its kin, by short names and by dots and blanks at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.hpp"
#include "base/result.hpp"
#include "fs/directory.hpp"

namespace nb::txn {

// Whether that may be so anywhere in the tree at `root`. `control` is the control directory of the set there, null where
// there is none. Directories that do so on their own say it themselves (fs::Directory::folds_case).
bool may_fold_names(const fs::Directory& root, const fs::Directory* control);

// Whether `name` is the only one by which `parent` could find what it finds by it. Saves listing a large directory for
// each of its names; false where only the list could tell.
bool is_only_name(const fs::Directory& parent, const std::string& name);

// Which of `names`, all those that `parent` lists, is found by `name`, which is there and is none of them. Nothing where
// that is not known: where both differ by more than the case of ASCII letters and have several hard links, or inode
// numbers tell nothing.
std::optional<std::string> listed_for(const fs::Directory& parent, const std::vector<std::string>& names,
                                      const std::string& name);

// `path`, of what is in the tree at `root` and is not the root, by the names that are listed; one of which that is not
// known, for its directory may not be read, stays as it is. Costs a list for each component at most, and none where names
// do not fold.
RelPath as_listed(const fs::Directory& root, const RelPath& path);

}  // namespace nb::txn
