// SPDX-License-Identifier: Apache-2.0
// The regular files of a set, one after the other in protocol order, for scrub, heal and drill. Holds one directory
// open, whatever the depth.
#pragma once

#include <functional>
#include <vector>

#include "fs/directory.hpp"
#include "txn/scrub_record.hpp"

namespace nb::session {

enum class WalkedTree : std::uint8_t {
  live,  // of a set: without reserved names
  kept,  // files/ of a generation: with the anchors in it
};

struct FileWalk {
  WalkedTree tree = WalkedTree::live;
  bool is_held = false;  // nothing can go meanwhile: a directory that is missing is unreadable, not passed over
  RelPath after;         // begins behind this path; the root: with the first
  // An error of either ends the walk. `visit`: the file, as its directory lists it; it need not be one any more.
  std::function<Status(fs::Directory& directory, const RelPath& path)> visit;
  std::function<Status(const RelPath& directory, const Error& error)> unreadable;
};

// All below `top`, on its mount alone.
Status walk_files(fs::Directory& top, const FileWalk& walk);

// The files of a whole set as their directories have them: the live ones, then those that the generations `numbers` keep,
// in that order. What cannot be looked at is passed over. An error of `visit` ends it, a request to end does with
// Errc::interrupted.
Status walk_set(txn::FileSet& set, const std::vector<std::uint64_t>& numbers,
                const std::function<Status(const txn::ScrubPlace& place, const fs::Stat& stat)>& visit);

}  // namespace nb::session
