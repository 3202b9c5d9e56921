// SPDX-License-Identifier: Apache-2.0
// SimNode: the Node half of the simulated Node, File and Directory. Internal to src/fs.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "fs/directory.hpp"
#include "fs/sim_state.hpp"

namespace nb::fs::sim {

// A reference on an inode: content of a removed file stays until the last handle is gone.
class Handle {
 public:
  Handle(std::shared_ptr<State> state, InodeNumber number);
  Handle(Handle&& other) noexcept = default;
  Handle& operator=(Handle&&) = delete;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle();

  [[nodiscard]] State& state() const { return *m_state; }
  [[nodiscard]] const std::shared_ptr<State>& shared() const { return m_state; }
  [[nodiscard]] InodeNumber number() const { return m_number; }
  [[nodiscard]] Inode& inode() const { return m_state->inode(m_number); }
  [[nodiscard]] std::unique_lock<std::recursive_mutex> lock() const { return std::unique_lock(m_state->mutex); }

 private:
  std::shared_ptr<State> m_state;
  InodeNumber m_number;
};

Result<Xattrs> read_xattrs(State& state, InodeNumber number);
// One attribute change by `kind`; checks what Linux checks.
Status change_attribute(const Handle& handle, SimOperation kind, AttributeChange change);
AttributeChange attribute_change(AttributeChange::Kind kind);

template <class Interface>
class SimNode : public Interface {
 public:
  explicit SimNode(Handle handle) : m_handle(std::move(handle)) {}

  [[nodiscard]] Result<Stat> stat() const override {
    const auto lock = m_handle.lock();
    return m_handle.state().stat(m_handle.number());
  }
  [[nodiscard]] Result<Xattrs> xattrs() const override {
    const auto lock = m_handle.lock();
    return read_xattrs(m_handle.state(), m_handle.number());
  }
  [[nodiscard]] std::optional<std::string> file_system_identity() const override {
    const auto lock = m_handle.lock();
    if (!m_handle.state().options.numbers_last) return std::nullopt;
    return "simulated:" + std::to_string(m_handle.inode().device);
  }
  Status set_owner(Owner owner) override {
    AttributeChange change = attribute_change(AttributeChange::Kind::set_owner);
    change.owner = owner;
    return change_attribute(m_handle, SimOperation::set_owner, std::move(change));
  }
  Status set_mode(std::uint32_t mode) override {
    AttributeChange change = attribute_change(AttributeChange::Kind::set_mode);
    change.mode = mode;
    return change_attribute(m_handle, SimOperation::set_mode, std::move(change));
  }
  Status set_mtime(Timestamp mtime) override {
    AttributeChange change = attribute_change(AttributeChange::Kind::set_mtime);
    change.mtime = mtime;
    return change_attribute(m_handle, SimOperation::set_mtime, std::move(change));
  }
  Status set_xattr(const std::string& name, std::string_view value) override {
    AttributeChange change = attribute_change(AttributeChange::Kind::set_xattr);
    change.name = name;
    change.value = value;
    return change_attribute(m_handle, SimOperation::set_xattr, std::move(change));
  }
  Status remove_xattr(const std::string& name) override {
    AttributeChange change = attribute_change(AttributeChange::Kind::remove_xattr);
    change.name = name;
    return change_attribute(m_handle, SimOperation::remove_xattr, std::move(change));
  }

 protected:
  [[nodiscard]] const Handle& handle() const { return m_handle; }
  [[nodiscard]] State& state() const { return m_handle.state(); }

 private:
  Handle m_handle;
};

}  // namespace nb::fs::sim
