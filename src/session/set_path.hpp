// SPDX-License-Identifier: Apache-2.0
// A path string that leads into a file set, taken apart where the set begins: what is behind that may be looked up in
// the tree of an earlier generation, where it need not be what it is now.
#pragma once

#include <string>

#include "fs/path_root.hpp"
#include "txn/locate.hpp"

namespace nb::session {

struct SetPath {
  std::unique_ptr<fs::Directory> root;  // the set's
  std::string root_path;                // absolute, real
  RelPath inside;                       // as it is written; need not exist
};

// Follows `path` as user_path.hpp does until a directory lies in a file set, which txn::locate_set says. From there on
// it goes down as far as there are directories, to find a set that lies inside the set, and follows no symlink: what is
// a link now may have been something else. Errc::path if it leads into no set, for "..", for names of nbackup's own, and
// for what `bounds` or locate_set refuse.
Result<SetPath> find_in_set(const fs::PathRoot& bounds, const std::string& path);

// The same for a source of a pull. Where it has "/./", the set is one that what is before the first of these lies in, and
// what is behind it is looked up in that set, also where there is another set by now.
Result<SetPath> find_source_in_set(const fs::PathRoot& bounds, const std::string& source);

// Such a source as its user wrote it: POOL:PATH.
std::string shown_source(const std::string& source);

// Says that `path` leads into none, with what txn::locate_set has passed over.
tl::unexpected<Error> no_set_at(const std::string& path, const std::optional<std::uint32_t>& passed_over);

}  // namespace nb::session
