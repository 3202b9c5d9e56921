// SPDX-License-Identifier: Apache-2.0
// PlainMetadata: gives a file just made its owner, mode and mtime with as few system calls as the file system allows.
// For files without attributes of their own, which are nearly all; whatever is out of the ordinary goes the long way
// (fs/kept_metadata.hpp). Used by the stager and by each of the small files' writers. Not thread-safe.
#pragma once

#include <bitset>

#include "fs/directory.hpp"

namespace nb::session {

class PlainMetadata {
 public:
  // True: `file`, which was made as `made`, has exactly `meta` now. False: not known; parts of it may be set, and
  // keep_metadata must be asked. One object serves files of one file system.
  bool give(fs::File& file, const fs::Stat& made, const fs::Metadata& meta);

 private:
  enum class Owner : std::uint8_t { as_made, given };
  [[nodiscard]] bool is_proven(const fs::Metadata& meta, Owner owner) const;
  bool prove(const fs::File& file, const fs::Metadata& meta, Owner owner);

  // What was set and read back the same. Times are kept to the nanosecond or not at all so.
  bool m_exact_times = false;
  bool m_exact_owners = false;
  std::bitset<01000> m_exact_modes;
};

}  // namespace nb::session
