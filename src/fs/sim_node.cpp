// SPDX-License-Identifier: Apache-2.0
#include "fs/sim_node.hpp"

#include <cerrno>

#include "base/assert.hpp"

namespace nb::fs::sim {
namespace {

bool is_known_namespace(const std::string& name) {
  return name.starts_with("user.") || name.starts_with("trusted.") || name.starts_with("security.") ||
         name == "system.posix_acl_access" || name == "system.posix_acl_default";
}

// As Linux: user attributes belong to files and directories only.
Status check_xattr(const State& state, const Inode& inode, const std::string& name) {
  if (!state.options.xattrs || !is_known_namespace(name)) return fail_errno("xattr " + name, EOPNOTSUPP);
  const bool plain = inode.type == FileType::regular || inode.type == FileType::directory;
  if (name.starts_with("user.") && !plain) return fail_errno("xattr " + name, EPERM);
  return {};
}

Status check_change(const State& state, const Inode& inode, const AttributeChange& change) {
  if (inode.immutable) return fail_errno("change of an immutable inode", EPERM);
  switch (change.kind) {
    case AttributeChange::Kind::set_mode:
      if (inode.type == FileType::symlink) return fail_errno("chmod of a symlink", EOPNOTSUPP);
      return {};
    case AttributeChange::Kind::set_xattr: return check_xattr(state, inode, change.name);
    case AttributeChange::Kind::remove_xattr:
      NB_TRY(check_xattr(state, inode, change.name));
      if (!inode.attributes.xattrs.contains(change.name)) {
        return fail(Errc::not_found, "removexattr " + change.name, ENODATA);
      }
      return {};
    default: return {};
  }
}

}  // namespace

Handle::Handle(std::shared_ptr<State> state, InodeNumber number) : m_state(std::move(state)), m_number(number) {
  m_state->hold(m_number);
}

Handle::~Handle() {
  if (!m_state) return;  // moved from
  const auto held = lock();
  m_state->release(m_number);
}

Result<Xattrs> read_xattrs(State& state, InodeNumber number) {
  NB_TRY(state.check_alive());
  Xattrs found;
  for (const auto& [name, value] : state.inode(number).attributes.xattrs) found.push_back({name, value});
  return found;
}

AttributeChange attribute_change(AttributeChange::Kind kind) {
  AttributeChange change;
  change.kind = kind;
  return change;
}

Status change_attribute(const Handle& handle, SimOperation kind, AttributeChange change) {
  NB_ASSERT(change.mtime.nsec < 1'000'000'000 && (change.mode & ~07777U) == 0);
  const auto lock = handle.lock();
  State& state = handle.state();
  NB_TRY_ASSIGN(const Gate gate, state.enter(kind, handle.number()));
  if (gate == Gate::pretend) return {};
  NB_TRY(check_change(state, handle.inode(), change));
  state.change(handle.number(), std::move(change));
  return {};
}

}  // namespace nb::fs::sim
