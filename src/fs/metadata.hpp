// SPDX-License-Identifier: Apache-2.0
// Work on whole files and whole trees, over any File and Directory.
#pragma once

#include <functional>
#include <string_view>

#include "fs/directory.hpp"

namespace nb::fs {

// Reads from `offset` until `out` is full or the file ends; fewer bytes than asked for mean its end.
Result<std::size_t> read_fully(File& file, std::uint64_t offset, std::span<std::byte> out);

// What read_through tells of a content, from front to back. An error of either ends the reading, and is its result.
struct ContentVisitor {
  std::function<Status(Extent hole)> hole;
  std::function<Status(std::uint64_t offset, ByteView bytes)> data;  // the bytes are good during the call
};

// Reads the first `size` bytes of `file` through `buffer`, which is not empty: data in pieces of at most its size, each
// of them as large as it can be; holes untouched. Errc::changed if the file is shorter.
Status read_through(File& file, std::uint64_t size, std::span<std::byte> buffer, const ContentVisitor& visitor);

// Removes `name` in `parent` with everything below it, never following a symlink. Directories without u+rwx are opened
// up first. Stops at the first error, with the rest still there; at a mount or another subvolume that is
// Errc::cross_device, and nothing in it has been touched. Errc::not_found if there was nothing to begin with.
// Any depth and number of entries: it holds few descriptors, and moves what lies deeper to the top of the subtree
// before it goes on.
Status remove_tree(Directory& parent, std::string_view name);

// Whether this process may do what only the owner of an inode may: it is the owner, or root.
bool acts_as_owner(const Stat& stat);

}  // namespace nb::fs
