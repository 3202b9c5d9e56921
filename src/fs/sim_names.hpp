// SPDX-License-Identifier: Apache-2.0
// NameTable: which names the directories of a simulated file system have; NameChange: one atomic change to it. The
// live table and the durable one are two of these, and the changes between them can be kept or lost one by one.
// Internal to src/fs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace nb::fs::sim {

using InodeNumber = std::uint64_t;
inline constexpr InodeNumber k_no_inode = 0;

struct NameChange {
  enum class Kind : std::uint8_t { add, remove, move };
  Kind kind = Kind::add;
  InodeNumber inode = k_no_inode;
  bool is_directory = false;  // the inode
  InodeNumber directory = k_no_inode;
  std::string name;
  InodeNumber to_directory = k_no_inode;  // of a move
  std::string to_name;
  InodeNumber replaced = k_no_inode;  // what a move takes the place of
  bool unsure = false;                // a sync of it failed: no later sync makes it durable

  [[nodiscard]] bool participates(InodeNumber dir) const { return directory == dir || to_directory == dir; }
  // True if this change makes no sense without `earlier`.
  [[nodiscard]] bool rests_on(const NameChange& earlier) const;
};

class NameTable {
 public:
  using Names = std::map<std::string, InodeNumber, std::less<>>;  // in memcmp order

  // No names for a directory that it does not know.
  [[nodiscard]] const Names& names(InodeNumber directory) const;
  [[nodiscard]] InodeNumber find(InodeNumber directory, std::string_view name) const;
  // True if `inode` is `directory` or one of its ancestors.
  [[nodiscard]] bool is_above(InodeNumber inode, InodeNumber directory) const;
  // Makes the change if the tree stays well-formed with it; false and no change if not.
  bool apply(const NameChange& change);

 private:
  [[nodiscard]] bool fits(const NameChange& change) const;
  std::map<InodeNumber, Names> m_directories;
  std::map<InodeNumber, InodeNumber> m_parents;  // of directories
};

}  // namespace nb::fs::sim
