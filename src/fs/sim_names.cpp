// SPDX-License-Identifier: Apache-2.0
#include "fs/sim_names.hpp"

namespace nb::fs::sim {

bool NameChange::rests_on(const NameChange& earlier) const {
  const auto touches = [&earlier](InodeNumber dir, const std::string& text) {
    return (earlier.directory == dir && earlier.name == text) ||
           (earlier.kind == Kind::move && earlier.to_directory == dir && earlier.to_name == text);
  };
  if (touches(directory, name)) return true;
  if (kind == Kind::move && touches(to_directory, to_name)) return true;
  // A directory goes only when what made it empty has happened.
  if (kind == Kind::remove && is_directory && earlier.participates(inode)) return true;
  if (replaced != k_no_inode && earlier.participates(replaced)) return true;
  // Two moves of directories may only together keep the tree free of cycles.
  return kind == Kind::move && is_directory && earlier.kind == Kind::move && earlier.is_directory;
}

const NameTable::Names& NameTable::names(InodeNumber directory) const {
  static const Names k_none;
  const auto found = m_directories.find(directory);
  return found == m_directories.end() ? k_none : found->second;
}

InodeNumber NameTable::find(InodeNumber directory, std::string_view name) const {
  const Names& all = names(directory);
  const auto found = all.find(name);
  return found == all.end() ? k_no_inode : found->second;
}

bool NameTable::is_above(InodeNumber inode, InodeNumber directory) const {
  for (InodeNumber at = directory; at != inode;) {
    const auto parent = m_parents.find(at);
    if (parent == m_parents.end()) return false;
    at = parent->second;
  }
  return true;
}

bool NameTable::fits(const NameChange& change) const {
  const InodeNumber present = find(change.directory, change.name);
  if (change.kind == NameChange::Kind::add) return present == k_no_inode;
  if (present != change.inode) return false;
  if (change.kind == NameChange::Kind::remove) return !change.is_directory || names(change.inode).empty();
  const InodeNumber target = find(change.to_directory, change.to_name);
  if (target != k_no_inode && (target != change.replaced || !names(target).empty())) return false;
  return !change.is_directory || !is_above(change.inode, change.to_directory);
}

bool NameTable::apply(const NameChange& change) {
  if (!fits(change)) return false;
  const bool moves = change.kind == NameChange::Kind::move;
  if (change.kind != NameChange::Kind::add) m_directories[change.directory].erase(change.name);
  // What it should replace may, after a crash, still be somewhere else.
  if (moves && find(change.to_directory, change.to_name) != k_no_inode) m_parents.erase(change.replaced);
  if (change.kind == NameChange::Kind::remove) {
    m_parents.erase(change.inode);
    return true;
  }
  const InodeNumber directory = moves ? change.to_directory : change.directory;
  m_directories[directory][moves ? change.to_name : change.name] = change.inode;
  if (change.is_directory) m_parents[change.inode] = directory;
  return true;
}

}  // namespace nb::fs::sim
