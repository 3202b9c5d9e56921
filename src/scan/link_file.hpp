// SPDX-License-Identifier: Apache-2.0
// LinkFile: a temporary file that maps inodes to paths: records one after the other, chained from an index by hash in
// memory. For HardLinks, when memory is not enough. The file has no name and goes with its descriptor; it lies in
// TMPDIR, else in /var/tmp or /tmp.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/rel_path.hpp"
#include "base/result.hpp"

namespace nb::scan {

struct InodeKey {
  std::uint64_t device;
  std::uint64_t inode;
  std::uint64_t ctime;  // any number made of it: an inode that was given away meanwhile is another one
  bool operator==(const InodeKey&) const = default;
};

class LinkFile {
 public:
  static Result<LinkFile> make();

  // `key` is not there yet. After an error the record is not there and nothing else has changed.
  Status add(const InodeKey& key, const RelPath& path);
  Result<std::optional<RelPath>> find(const InodeKey& key) const;

 private:
  explicit LinkFile(Fd file);
  Status flush();
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) const;

  Fd m_file;
  std::vector<std::uint64_t> m_newest;  // by hash: where the newest record of the chain begins, plus 1; 0: none
  std::uint64_t m_written = 0;          // bytes in the file
  Bytes m_tail;                         // what comes behind them
};

}  // namespace nb::scan
