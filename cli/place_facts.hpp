// SPDX-License-Identifier: Apache-2.0
// What a directory's file system is and what it can hold: for doctor. Tried out with two small files whose names begin
// with ".nbackup-doctor-" and which are removed at once.
#pragma once

#include <optional>

#include "cli/bench_protocol.hpp"

namespace nb::cli {

struct PlaceFacts {
  std::string directory;         // what was asked for, or the nearest one above it that exists
  bool exists = false;           // whether it is what was asked for
  std::string kind;              // "ext4", "fuse.sshfs"; "" where the kernel does not say
  std::uint64_t free_bytes = 0;  // as fs::Space has them, all-ones where they are not known
  std::uint64_t free_inodes = 0;
  bool writable = false;  // the rest means nothing where it is not
  bool xattrs = false;
  bool reflinks = false;
  bool hard_links = false;
  bool symlinks = false;
  bool folds_case = false;
};

// Errc::not_found and the like where nothing above `path` can be looked at either.
Result<PlaceFacts> facts_of_place(const std::string& path);

BenchFields fields_of(const PlaceFacts& facts);
Result<PlaceFacts> place_facts_in(const BenchFields& fields);

// The type of the mount with this id in /proc/self/mountinfo (proc(5)), "" where it is not there.
std::string mount_kind_in(std::string_view mountinfo, std::uint64_t mount_id);

}  // namespace nb::cli
