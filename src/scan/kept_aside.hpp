// SPDX-License-Identifier: Apache-2.0
// KeptAside: the seam through which a side learns what is kept for a file beside the tree, where the file system has no
// attributes to hold it. Lister and ContentSender use it where they are given one; session/ has it from the file set.
#pragma once

#include "base/rel_path.hpp"
#include "fs/stat.hpp"

namespace nb::scan {

class KeptAside {
 public:
  virtual ~KeptAside() = default;
  // Attributes to be taken as if they were set on `path` (below the transfer's root), an inode of that type.
  virtual fs::Xattrs find(const RelPath& path, fs::FileType type) = 0;
};

}  // namespace nb::scan
