// SPDX-License-Identifier: Apache-2.0
// What scan and sink do to whole inodes and whole trees, over any Directory.
#pragma once

#include <string_view>

#include "fs/directory.hpp"

namespace nb::fs {

// Turns the attributes that `node` has into those that are wanted (both sorted, as xattrs() gives them): removes what
// is not wanted, sets what differs. Attributes outside of what xattrs() lists are left alone. All are tried; the first
// error is returned. A POSIX ACL sets the group bits of the mode and the other way round; with both from one and the
// same file either order gives that file's.
Status apply_xattrs(Node& node, const Xattrs& have, const Xattrs& want);

// Removes `name` in `parent` with everything below it, never following a symlink. Directories without u+rwx are opened
// up first. Stops at the first error, with the rest still there; at a mount or another subvolume that is
// Errc::cross_device, and nothing in it has been touched. Errc::not_found if there was nothing to begin with.
// Any depth and number of entries: it holds few descriptors, and moves what lies deeper to the top of the subtree
// before it goes on.
Status remove_tree(Directory& parent, std::string_view name);

}  // namespace nb::fs
