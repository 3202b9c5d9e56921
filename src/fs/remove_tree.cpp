// SPDX-License-Identifier: Apache-2.0
// An explicit stack of open directories, of limited height. A Directory cannot reach its parent, so what lies deeper
// than the stack is high is renamed into the topmost directory and emptied from there.
#include "fs/remove_tree.hpp"

#include <utility>

namespace nb::fs {
namespace {

constexpr std::size_t k_max_frames = 32;
constexpr std::uint32_t k_owner_all = 0700;

bool is_code(const Status& status, Errc code) { return !status && status.error().code == code; }

Status open_up(Node& directory) {
  NB_TRY_ASSIGN(const Stat stat, directory.stat());
  if ((stat.mode & k_owner_all) == k_owner_all) return {};
  return directory.set_mode(stat.mode | k_owner_all);
}

// A removal that someone else did first is as good.
Status unless_gone(Status removed) {
  if (is_code(removed, Errc::not_found)) return {};
  return removed;
}

}  // namespace

Status TreeRemover::run(std::string name) {
  NB_TRY(enter(name));
  while (!m_frames.empty()) NB_TRY(step());
  return {};
}

Status TreeRemover::step() {
  Frame& frame = m_frames.back();
  if (frame.next == frame.entries.size()) return leave();
  const NamedType entry = std::move(frame.entries[frame.next++]);
  if (entry.type != FileType::directory) return unless_gone(frame.directory->remove_file(entry.name));
  if (m_frames.size() == k_max_frames) return move_to_top(entry.name);
  return unless_gone(enter(entry.name));
}

Result<std::unique_ptr<Directory>> TreeRemover::open(Directory& in, const std::string& name) {
  Result<std::unique_ptr<Directory>> opened = in.open_directory(name);
  if (!opened && opened.error().code == Errc::not_permitted) {
    NB_TRY_ASSIGN(const std::unique_ptr<Node> node, in.open_node(name));
    NB_TRY_ASSIGN(const Stat stat, node->stat());
    if (!same_mount(stat, m_parent_stat) || stat.mount_root) return fail(Errc::cross_device, "remove tree: " + name);
    NB_TRY(open_up(*node));
    opened = in.open_directory(name);
  }
  NB_TRY_ASSIGN(std::unique_ptr<Directory> directory, std::move(opened));
  NB_TRY_ASSIGN(const Stat stat, directory->stat());
  if (!same_mount(stat, m_parent_stat) || stat.mount_root) return fail(Errc::cross_device, "remove tree: " + name);
  if (!directory->writable()) NB_TRY(open_up(*directory));
  return directory;
}

Status TreeRemover::enter(const std::string& name) {
  Frame frame;
  NB_TRY_ASSIGN(frame.directory, open(current(), name));
  NB_TRY_ASSIGN(frame.entries, frame.directory->list());
  frame.name = name;
  m_frames.push_back(std::move(frame));
  return {};
}

Status TreeRemover::leave() {
  const std::string name = std::move(m_frames.back().name);
  m_frames.pop_back();
  return unless_gone(current().remove_directory(name));
}

Status TreeRemover::move_to_top(const std::string& name) {
  Directory& from = current();
  // Opened for its checks, and because moving a directory needs write permission on itself.
  Result<std::unique_ptr<Directory>> opened = open(from, name);
  if (!opened) return unless_gone(tl::make_unexpected(std::move(opened).error()));
  Frame& top = m_frames.front();
  while (true) {
    std::string free_name = "deep-" + std::to_string(m_moved++);
    Status moved = from.rename(name, *top.directory, free_name, RenameMode::no_replace);
    if (is_code(moved, Errc::exists)) continue;
    if (moved) top.entries.push_back({std::move(free_name), FileType::directory});
    return unless_gone(std::move(moved));
  }
}

}  // namespace nb::fs
