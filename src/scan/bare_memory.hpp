// SPDX-License-Identifier: Apache-2.0
// BareMemory: the seam through which a side remembers, from one run to the next, which directories are bare: no file in
// them has extended attributes. The attributes of an inode cannot change without its ctime, so a directory whose files
// are still the same inodes with the same ctimes is still bare, and none of them need be asked. Lister uses it where it
// is given one; session/ has the only real one. Its answers are believed.
#pragma once

#include <optional>
#include <span>

#include "base/clock.hpp"
#include "fs/directory.hpp"
#include "hash/digest.hpp"

namespace nb::scan {

// Entries of one directory in order, and what the file system says of each; subdirectories may be among them and do not
// count, for theirs are the listings of their own.
struct Looked {
  std::span<const fs::NamedType> names;
  std::span<const fs::Stat> stats;  // as many
};

class BareMemory {
 public:
  virtual ~BareMemory() = default;
  // The moment before the first entry is looked at, for record().
  [[nodiscard]] virtual WallTime now() const = 0;
  // Whether a directory was found bare when its files had this fingerprint. `stat` is its own.
  virtual bool is_bare(const fs::Directory& directory, const fs::Stat& stat, const hash::Digest& files) = 0;
  // All of `entries` were looked at, then asked for attributes, and had none. The memory itself leaves out what may
  // change once more without showing it.
  struct Finding {
    const fs::Stat& stat;  // of the directory
    const hash::Digest& files;
    std::span<const fs::Stat> entries;
    WallTime began;
  };
  virtual void record(const fs::Directory& directory, const Finding& finding) = 0;
};

// Name, inode and ctime of each file. Nothing where there is nothing to gain (few files), or where something is mounted
// over one of them: what is known of this file system does not hold there.
std::optional<hash::Digest> fingerprint_of(const fs::Stat& directory, const Looked& entries);

}  // namespace nb::scan
