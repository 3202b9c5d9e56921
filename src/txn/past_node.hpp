// SPDX-License-Identifier: Apache-2.0
// PastNode, PastFile: an inode as it was at an earlier generation; read-only. Internal to src/txn.
#pragma once

#include <memory>
#include <utility>

#include "txn/past_view.hpp"

namespace nb::txn {

// The answer of every operation that changes something.
inline tl::unexpected<Error> read_only_past() { return fail(Errc::unsupported, "change an earlier generation"); }

// What every handle has: the view, and what its overlay says of the path.
struct PastPlace {
  std::shared_ptr<const PastView> view;
  const PastOverlay::Node* node = nullptr;  // of the view's overlay; null: nothing is said at it or below
};

// `Base` is fs::Node, fs::File or fs::Directory.
template <class Base>
class PastNode : public Base {
 public:
  PastNode(PastPlace place, std::unique_ptr<Base> physical)
      : m_place(std::move(place)), m_physical(std::move(physical)) {}

  [[nodiscard]] Result<fs::Stat> stat() const override {
    NB_TRY_ASSIGN(fs::Stat stat, m_physical->stat());
    m_place.view->show(m_place.node, stat);
    return stat;
  }
  [[nodiscard]] Result<fs::Xattrs> xattrs() const override {
    if (!m_place.view->may_have_old_xattrs(m_place.node)) return m_physical->xattrs();
    NB_TRY_ASSIGN(const fs::Stat stat, m_physical->stat());
    const fs::Xattrs* old = m_place.view->old_xattrs(m_place.node, inode_id(stat));
    return old != nullptr ? Result<fs::Xattrs>(*old) : m_physical->xattrs();
  }
  [[nodiscard]] std::optional<std::string> file_system_identity() const override { return std::nullopt; }
  Status set_owner(fs::Owner) override { return read_only_past(); }
  Status set_mode(std::uint32_t) override { return read_only_past(); }
  Status set_mtime(fs::Timestamp) override { return read_only_past(); }
  Status set_xattr(const std::string&, std::string_view) override { return read_only_past(); }
  Status remove_xattr(const std::string&) override { return read_only_past(); }

 protected:
  [[nodiscard]] const PastPlace& place() const { return m_place; }
  [[nodiscard]] const PastView& view() const { return *m_place.view; }
  [[nodiscard]] Base& physical() { return *m_physical; }
  [[nodiscard]] const Base& physical() const { return *m_physical; }

 private:
  const PastPlace m_place;
  const std::unique_ptr<Base> m_physical;
};

class PastFile final : public PastNode<fs::File> {
 public:
  using PastNode::PastNode;

  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override {
    return physical().read_at(offset, out);
  }
  Result<std::optional<fs::Extent>> next_data(std::uint64_t offset) override { return physical().next_data(offset); }
  void expect_sequential_read() override { physical().expect_sequential_read(); }
  void forget_cached() override { physical().forget_cached(); }

  Status write_at(std::uint64_t, ByteView) override { return read_only_past(); }
  Status set_size(std::uint64_t) override { return read_only_past(); }
  Status sync() override { return read_only_past(); }
  void start_writeback(fs::Extent) override {}
  Result<bool> clone_from(const fs::File&) override { return read_only_past(); }
  Result<bool> clone_range(const fs::File&, fs::Extent, std::uint64_t) override { return read_only_past(); }
  Result<bool> punch_hole(fs::Extent) override { return read_only_past(); }
  Result<bool> try_lock(fs::LockKind, std::uint64_t) override { return read_only_past(); }
};

}  // namespace nb::txn
