// SPDX-License-Identifier: Apache-2.0
// SimFile: the simulated File. Internal to src/fs.
#pragma once

#include <optional>

#include "fs/sim_node.hpp"

namespace nb::fs::sim {

class SimFile final : public SimNode<File> {
 public:
  SimFile(Handle handle, OpenMode mode);
  SimFile(const SimFile&) = delete;
  SimFile& operator=(const SimFile&) = delete;
  ~SimFile() override;  // gives up its locks

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override;
  Status write_at(std::uint64_t offset, ByteView data) override;
  Status set_size(std::uint64_t size) override;
  Status sync() override;
  void start_writeback(Extent range) override;
  void expect_sequential_read() override;
  void forget_cached() override {}
  Result<std::optional<Extent>> next_data(std::uint64_t offset) override;
  Result<bool> clone_from(const File& from) override;
  Result<bool> clone_range(const File& from, Extent range, std::uint64_t offset) override;
  Result<bool> punch_hole(Extent range) override;
  Result<bool> try_lock(LockKind kind, std::uint64_t at) override;
  [[nodiscard]] bool may_have_writer() const override { return false; }

 private:
  Status check_writable() const;
  // The simulated file to clone from; nothing where no clone is possible between the two.
  const SimFile* clone_source(const File& from) const;
  Result<bool> clone(const Inode& source, Extent range, std::uint64_t offset);
  void finish_change(const Content::BlockSet& changed);

  OpenMode m_mode;
  std::uint64_t m_lock_owner;
};

}  // namespace nb::fs::sim
