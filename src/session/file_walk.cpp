// SPDX-License-Identifier: Apache-2.0
#include "session/file_walk.hpp"

#include <cerrno>
#include <vector>

#include "session/interrupt.hpp"
#include "txn/history.hpp"
#include "txn/merge_lists.hpp"

namespace nb::session {
namespace {

class Walker {
 public:
  Walker(fs::Directory& top, const FileWalk& walk) : m_top(top), m_walk(walk), m_after(txn::key_of(walk.after)) {}

  Status run() {
    NB_TRY_ASSIGN(m_stat, m_top.stat());
    NB_TRY(enter(RelPath()));
    while (!m_levels.empty()) {
      Level& level = m_levels.back();
      if (level.next == level.names.size()) {
        m_levels.pop_back();
        m_open.reset();
        continue;
      }
      const fs::NamedType entry = level.names[level.next++];
      NB_TRY(entry.type == fs::FileType::directory ? descend(level.path.child(entry.name)) : file(level.path, entry));
    }
    return {};
  }

 private:
  struct Level {
    RelPath path;
    std::vector<fs::NamedType> names;
    std::size_t next = 0;
  };

  // Names in it that are to be seen come; an error is that directory's.
  Status enter(const RelPath& path) {
    auto opened = m_top.open_directory_path(path);
    if (!opened) return missed(path, opened.error());
    const auto stat = (*opened)->stat();
    if (stat && !fs::same_mount(*stat, m_stat)) return {};
    auto names = (*opened)->list();
    if (!names) return missed(path, names.error());
    const bool has_anchors = m_walk.tree == WalkedTree::kept && path.is_root();
    bool all_fit = true;
    std::erase_if(*names, [&](const fs::NamedType& each) {
      const bool is_anchors = has_anchors && each.name == k_control_name;
      const bool fits = path.str().size() + 1 + each.name.size() <= k_max_path_bytes;
      all_fit = all_fit && fits;
      return !fits || (is_reserved_name(each.name) && !is_anchors);
    });
    if (!all_fit) NB_TRY(m_walk.unreadable(path, {Errc::unreadable, ENAMETOOLONG, ""}));
    m_open = std::move(*opened);
    m_levels.push_back({path, std::move(*names), 0});
    return {};
  }

  Status missed(const RelPath& path, const Error& error) {
    const bool has_gone = is_not_there(error.code);
    return has_gone && !m_walk.is_held ? Status() : m_walk.unreadable(path, error);
  }

  // What comes before the first file that is wanted is not opened.
  Status descend(const RelPath& path) {
    const std::string key = txn::key_of(path);
    const bool is_on_the_way = m_after.size() > key.size() && m_after[key.size()] == '\0' && m_after.starts_with(key);
    if (key <= m_after && !is_on_the_way) return {};
    return enter(path);
  }

  Status file(const RelPath& parent, const fs::NamedType& entry) {
    if (entry.type != fs::FileType::regular) return {};
    const RelPath path = parent.child(entry.name);
    if (txn::key_of(path) <= m_after) return {};
    if (!m_open) {
      auto again = m_top.open_directory_path(parent);
      if (!again) return missed(parent, again.error());
      m_open = std::move(*again);
    }
    return m_walk.visit(*m_open, path);
  }

  fs::Directory& m_top;
  const FileWalk& m_walk;
  const std::string m_after;
  fs::Stat m_stat;
  std::vector<Level> m_levels;
  std::unique_ptr<fs::Directory> m_open;  // of the last level, unless it has to be opened again
};

}  // namespace

Status walk_files(fs::Directory& top, const FileWalk& walk) { return Walker(top, walk).run(); }

Status walk_set(txn::FileSet& set, const std::vector<std::uint64_t>& numbers,
                const std::function<Status(const txn::ScrubPlace& place, const fs::Stat& stat)>& visit) {
  const auto walk_tree = [&visit](const std::optional<std::uint64_t>& generation, fs::Directory& top) {
    FileWalk walk;
    walk.tree = generation ? WalkedTree::kept : WalkedTree::live;
    walk.visit = [&](fs::Directory& directory, const RelPath& path) -> Status {
      if (!may_go_on()) return fail(Errc::interrupted, "");
      const auto stat = directory.stat_at(path.name());
      return stat ? visit({generation, path}, *stat) : Status{};
    };
    walk.unreadable = [](const RelPath&, const Error&) -> Status { return {}; };
    return walk_files(top, walk);
  };
  NB_TRY(walk_tree(std::nullopt, set.root()));
  for (const std::uint64_t number : numbers) {
    const auto files = txn::open_kept_files(set, number);
    if (files) NB_TRY(walk_tree(number, **files));
  }
  return {};
}

}  // namespace nb::session
