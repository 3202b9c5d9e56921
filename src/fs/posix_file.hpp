// SPDX-License-Identifier: Apache-2.0
// PosixFile: the real File. Internal to src/fs.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "fs/posix_node.hpp"

namespace nb::fs::posix {

class PosixFile final : public PosixNode<File, Access::full> {
 public:
  using PosixNode::PosixNode;
  PosixFile(Fd fd, const Stat& made_as) : PosixNode(std::move(fd)), m_made_as(made_as) {}

  [[nodiscard]] std::optional<Stat> made_as() const override { return m_made_as; }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override;
  Status write_at(std::uint64_t offset, ByteView data) override;
  Status set_size(std::uint64_t size) override;
  Status sync() override;
  void start_writeback(Extent range) override;
  void expect_sequential_read() override;
  void forget_cached() override;
  Result<std::optional<Extent>> next_data(std::uint64_t offset) override;
  Result<bool> clone_from(const File& from) override;
  Result<bool> clone_range(const File& from, Extent range, std::uint64_t offset) override;
  Result<bool> punch_hole(Extent range) override;
  Result<bool> try_lock(LockKind kind, std::uint64_t at) override;
  [[nodiscard]] bool may_have_writer() const override;

 private:
  Result<std::optional<Extent>> rest_as_data(std::uint64_t offset);
  ssize_t read_some(off_t offset, std::span<std::byte> out);

  bool m_read_once = false;
  std::optional<Stat> m_made_as;
};

// A regular file in the directory `fd`; anything else, even one swapped in at this moment, is Errc::path.
Result<std::unique_ptr<File>> open_file_at(int fd, std::string_view name, OpenMode mode);

}  // namespace nb::fs::posix
