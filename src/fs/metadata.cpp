// SPDX-License-Identifier: Apache-2.0
#include "fs/metadata.hpp"

#include <unistd.h>

#include <algorithm>
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

namespace {

Status read_stretch(File& file, Extent data, std::span<std::byte> buffer, const ContentVisitor& visitor) {
  const std::uint64_t end = data.offset + data.length;
  for (std::uint64_t at = data.offset; at < end;) {
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(end - at, buffer.size()));
    NB_TRY_ASSIGN(const std::size_t got, read_fully(file, at, buffer.first(want)));
    if (got < want) return fail(Errc::changed, "read: the file has become shorter");
    NB_TRY(visitor.data(at, buffer.first(got)));
    at += got;
  }
  return {};
}

}  // namespace

Status read_through(File& file, std::uint64_t size, std::span<std::byte> buffer, const ContentVisitor& visitor) {
  for (std::uint64_t at = 0; at < size;) {
    NB_TRY_ASSIGN(const auto data, file.next_data(at));
    const std::uint64_t start = data ? std::min(data->offset, size) : size;
    const bool has_end = data && data->length > 0;  // some say of what they hold that it is data of no length
    const std::uint64_t end = has_end ? std::min(size, start + data->length) : size;
    if (start > at) NB_TRY(visitor.hole({at, start - at}));
    NB_TRY(read_stretch(file, {start, end - start}, buffer, visitor));
    at = end;
  }
  return {};
}

Status remove_tree(Directory& parent, std::string_view name) {
  NB_TRY_ASSIGN(const Stat stat, parent.stat_at(name));
  if (stat.type != FileType::directory) return parent.remove_file(name);
  NB_TRY_ASSIGN(const Stat parent_stat, parent.stat());
  TreeRemover remover(parent, parent_stat);
  return remover.run(std::string(name));
}

bool acts_as_owner(const Stat& stat) { return ::geteuid() == 0 || stat.owner.uid == ::geteuid(); }

}  // namespace nb::fs
