// SPDX-License-Identifier: Apache-2.0
// Damage: the files of a set whose content is known not to be what was put there, as scrubs have found them
// (.nbackup/damage, docs/formats.md). Scrub and heal write the list, under the scrub lock; a push reads it.
//
// A file is known by its inode and the time when that was made, and looked for where it may have gone: a live file that
// was replaced lies in history under its path, and thinning moves what history has to a newer generation.
#pragma once

#include <optional>
#include <vector>

#include "txn/file_set.hpp"

namespace nb::txn {

inline constexpr std::string_view k_damage_name = "damage";
// More are told and not listed.
inline constexpr std::size_t k_most_damaged = 100'000;
inline constexpr std::size_t k_most_ranges = 256;

struct Damaged {
  std::optional<std::uint64_t> generation;  // whose files/ has it; nothing: the live tree
  RelPath path;
  std::uint64_t inode = 0;
  fs::Timestamp born;             // of the inode; zero where that is not known
  std::uint64_t found_bytes = 0;  // its size, as damaged
  fs::Timestamp mtime;
  std::uint64_t size = 0;  // of the content that it should have
  hash::Digest digest;     // of that
  // Somebody is writing it anew in place: its size and mtime say nothing.
  bool is_being_healed = false;
  std::vector<fs::Extent> ranges;  // where, as far as that is known; none: anywhere
  // With is_being_healed: its metadata, of which writing takes some away. Nothing where an earlier version began.
  std::optional<fs::Metadata> as_was = std::nullopt;

  // Whether `stat` is of the file as it was found.
  [[nodiscard]] bool is(const fs::Stat& stat) const;
  // The same where `stat` has the mtime that an earlier generation shows.
  [[nodiscard]] bool is_in_the_past(const fs::Stat& stat) const;
};

// Whether an inode number and a birth name one file for good in the file system of `near`. Not where stat data promise
// nothing (fs::Node::file_system_identity): there numbers change from mount to mount, and births come in coarse steps.
[[nodiscard]] bool knows_inodes(const fs::Node& near);

Bytes encode(const Damaged& file);
Result<Damaged> decode_damaged(ByteView data);  // Errc::bad_set

// The list as it stands; empty where there is none. Errc::bad_set if it is damaged itself. Entries without a birth are
// left out where there are births: an earlier version could take sound files for damaged.
Result<std::vector<Damaged>> read_damage(const fs::Directory& control);
// Durable, in one step; without entries there is no list. The caller holds the scrub lock (scrub_record.hpp).
Status write_damage(fs::Directory& control, const std::vector<Damaged>& files);

// The same files where they are now. What is gone, or was changed, is left out.
Result<std::vector<Damaged>> find_again(FileSet& set, const std::vector<Damaged>& files);

}  // namespace nb::txn
