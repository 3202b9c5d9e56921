// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace nb::scan {

// Files in that directory whose names begin so are left out: this program's own, which it has open. To close another
// descriptor of one would take SQLite's locks away.
struct OwnFiles {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::string prefix;
};

}  // namespace nb::scan
