// SPDX-License-Identifier: Apache-2.0
#include "fs/metadata.hpp"

#include <string>

#include "fs/remove_tree.hpp"

namespace nb::fs {
namespace {

void keep_first(Status& first, Status next) {
  if (first && !next) first = std::move(next);
}

Status remove_if_present(Node& node, const std::string& name) {
  Status removed = node.remove_xattr(name);
  if (!removed && removed.error().code == Errc::not_found) return {};
  return removed;
}

}  // namespace

Status apply_xattrs(Node& node, const Xattrs& have, const Xattrs& want) {
  Status result;
  auto old = have.begin();
  for (const Xattr& wanted : want) {
    for (; old != have.end() && old->name < wanted.name; ++old) keep_first(result, remove_if_present(node, old->name));
    const bool present = old != have.end() && old->name == wanted.name;
    if (!present || old->value != wanted.value) keep_first(result, node.set_xattr(wanted.name, wanted.value));
    if (present) ++old;
  }
  for (; old != have.end(); ++old) keep_first(result, remove_if_present(node, old->name));
  return result;
}

Status remove_tree(Directory& parent, std::string_view name) {
  NB_TRY_ASSIGN(const Stat stat, parent.stat_at(name));
  if (stat.type != FileType::directory) return parent.remove_file(name);
  NB_TRY_ASSIGN(const Stat parent_stat, parent.stat());
  TreeRemover remover(parent, parent_stat.device);
  return remover.run(std::string(name));
}

}  // namespace nb::fs
