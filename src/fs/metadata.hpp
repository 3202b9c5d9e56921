// SPDX-License-Identifier: Apache-2.0
// Work on whole files and whole trees, over any File and Directory.
#pragma once

#include <string_view>

#include "fs/directory.hpp"

namespace nb::fs {

// Reads from `offset` until `out` is full or the file ends; fewer bytes than asked for mean its end.
Result<std::size_t> read_fully(File& file, std::uint64_t offset, std::span<std::byte> out);

// Removes `name` in `parent` with everything below it, never following a symlink. Directories without u+rwx are opened
// up first. Stops at the first error, with the rest still there; at a mount or another subvolume that is
// Errc::cross_device, and nothing in it has been touched. Errc::not_found if there was nothing to begin with.
// Any depth and number of entries: it holds few descriptors, and moves what lies deeper to the top of the subtree
// before it goes on.
Status remove_tree(Directory& parent, std::string_view name);

}  // namespace nb::fs
