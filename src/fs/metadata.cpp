// SPDX-License-Identifier: Apache-2.0
#include "fs/metadata.hpp"

#include <string>

#include "fs/remove_tree.hpp"

namespace nb::fs {

Result<std::size_t> read_fully(File& file, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t filled = 0;
  while (filled < out.size()) {
    NB_TRY_ASSIGN(const std::size_t got, file.read_at(offset + filled, out.subspan(filled)));
    if (got == 0) break;
    filled += got;
  }
  return filled;
}

Status remove_tree(Directory& parent, std::string_view name) {
  NB_TRY_ASSIGN(const Stat stat, parent.stat_at(name));
  if (stat.type != FileType::directory) return parent.remove_file(name);
  NB_TRY_ASSIGN(const Stat parent_stat, parent.stat());
  TreeRemover remover(parent, parent_stat);
  return remover.run(std::string(name));
}

}  // namespace nb::fs
