// SPDX-License-Identifier: Apache-2.0
// The parts that text and binary records share.
#include "txn/records.hpp"

#include "base/text.hpp"

namespace nb::txn {

std::string id_text(const std::array<std::byte, 16>& id) { return to_hex(id); }

Ident ident_of(const fs::Stat& stat) {
  Ident ident{stat.type, stat.inode, 0, {}};
  if (stat.type == fs::FileType::regular) {
    ident.size = stat.size;
    ident.mtime = stat.mtime;
  }
  return ident;
}

std::uint64_t hash_of(const RelPath& path) { return hash::check_of(as_bytes(path.str())); }

}  // namespace nb::txn
