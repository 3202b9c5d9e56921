// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "txn/apply.hpp"

namespace nb::txn {
namespace {

constexpr std::string_view k_acl_prefix = "system.posix_acl_";

const fs::Xattr* find_xattr(const fs::Xattrs& all, const std::string& name) {
  const auto it = std::find_if(all.begin(), all.end(), [&](const fs::Xattr& each) { return each.name == name; });
  return it == all.end() ? nullptr : &*it;
}

// What the journal never knew about (a security label that the system adds by itself) may refuse to go.
bool may_stay(const Status& removed, const fs::Metadata& from, const std::string& name) {
  const Errc code = removed.error().code;
  if (code == Errc::not_found) return true;
  return (code == Errc::not_permitted || code == Errc::unsupported) && find_xattr(from.xattrs, name) == nullptr;
}

Status set_xattrs(fs::Node& node, const fs::Metadata& from, const fs::Xattrs& wanted) {
  NB_TRY_ASSIGN(const fs::Xattrs present, node.xattrs());
  for (const fs::Xattr& each : present) {
    if (find_xattr(wanted, each.name) != nullptr) continue;
    Status removed = node.remove_xattr(each.name);
    if (!removed && !may_stay(removed, from, each.name)) return removed;
  }
  // An ACL may take away the right to set the others.
  for (const bool is_acl : {false, true}) {
    for (const fs::Xattr& each : wanted) {
      if (each.name.starts_with(k_acl_prefix) != is_acl) continue;
      const fs::Xattr* found = find_xattr(present, each.name);
      if (found == nullptr || found->value != each.value) NB_TRY(node.set_xattr(each.name, each.value));
    }
  }
  return {};
}

// What a file system that keeps whole seconds (or 2 s, 10 ms, 100 ns) makes of `wanted`.
bool is_rounded(const fs::Timestamp& found, const fs::Timestamp& wanted) {
  if (found == wanted) return true;
  if (found > wanted || wanted.sec - found.sec > 1) return false;
  if (found.sec == wanted.sec && wanted.nsec - found.nsec < 100) return true;
  return found.nsec % 10'000'000 == 0;
}

}  // namespace

bool is_target(const fs::Stat& live, const SetMetadata& op) {
  if (matches(live, op.target)) return true;
  if (op.target.type != fs::FileType::regular) return false;
  if (!is_rounded(live.mtime, op.after.mtime) && !is_rounded(live.mtime, op.before.mtime)) return false;
  Ident expected = op.target;
  expected.mtime = live.mtime;
  return matches(live, expected);
}

// An ordinary user may set attributes only where the mode lets that user write.
static Status open_for_xattrs(fs::Node& node, const fs::Stat& now, const fs::Metadata& to) {
  if ((now.mode & 0200) != 0 || now.type == fs::FileType::symlink) return {};
  NB_TRY_ASSIGN(const fs::Xattrs present, node.xattrs());
  return present == to.xattrs ? Status{} : node.set_mode(now.mode | 0200);
}

bool is_time_only(const fs::Metadata& from, const fs::Metadata& to) {
  return from.owner == to.owner && from.mode == to.mode && from.xattrs == to.xattrs;
}

// chown clears set-id bits and file capabilities, so it comes first; an ACL changes the group bits of the mode, so the
// mode comes after; all of them leave mtime alone.
Status set_metadata(fs::Node& node, const fs::Metadata& from, const fs::Metadata& to) {
  NB_TRY_ASSIGN(const fs::Stat before, node.stat());
  if (is_time_only(from, to)) return before.mtime == to.mtime ? Status() : node.set_mtime(to.mtime);
  if (before.owner != to.owner) NB_TRY(node.set_owner(to.owner));
  NB_TRY(open_for_xattrs(node, before, to));
  NB_TRY(set_xattrs(node, from, to.xattrs));
  NB_TRY_ASSIGN(const fs::Stat now, node.stat());
  if (now.mode != to.mode && now.type != fs::FileType::symlink) NB_TRY(node.set_mode(to.mode));
  if (now.mtime != to.mtime) NB_TRY(node.set_mtime(to.mtime));
  return {};
}

}  // namespace nb::txn
