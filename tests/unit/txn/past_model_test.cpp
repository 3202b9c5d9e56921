// SPDX-License-Identifier: Apache-2.0
// Random histories: a set changes as commits change it, each generation is described by a walk over the live tree at
// its time, and every one of them must look the same again through the past tree in the end.
#include <algorithm>
#include <random>

#include "past_world.hpp"

namespace nb::txn::test {
namespace {

using fs::FileType;
using fs::test::PosixWorld;
using fs::test::SimWorld;

class RandomHistory {
 public:
  RandomHistory(const fs::Directory& root, std::uint64_t seed) : m_set(root), m_random(seed) {
    m_set.base(0);
    remember();
  }

  // One more generation of a few operations, none of which touches what another made or took away.
  void commit() {
    ++m_number;
    m_touched.clear();
    m_metadata.clear();
    m_tree.clear();
    m_met_new_name = false;
    m_changed_groups.clear();
    for (std::size_t left = 1 + below(6); left > 0; --left) change_tree();
    for (std::size_t left = below(4); left > 0; --left) change_metadata(pick_any());
    settle_directories();
    m_set.commit(m_number, all_changes());
    remember();
  }

  void check() {
    for (const auto& [number, expected] : m_generations) {
      const Descriptions past = describe(*m_set.past(number));
      if (past != expected) {
        INFO("generation " << number << " was\n" << show(expected) << "and is now\n" << show(past));
        CHECK((past == expected));
      }
    }
  }

  // What is called equal is equal.
  void check_same_subtrees() {
    const std::uint64_t a = below(m_number + 1);
    const std::uint64_t b = below(m_number + 1);
    const auto left = m_set.past(a);
    const auto right = m_set.past(b);
    for (const auto& [path, one] : m_generations[a]) {
      const auto other = m_generations[b].find(path);
      if (one.type != FileType::directory || other == m_generations[b].end() ||
          other->second.type != FileType::directory) {
        continue;
      }
      const RelPath where = at(path);
      if (!same_subtree(*good(left->open_directory_path(where)), *good(right->open_directory_path(where)))) continue;
      ++m_found_same;
      INFO("'" << path << "' of " << a << " and " << b);
      CHECK((subtree(a, where) == subtree(b, where)));
    }
  }
  [[nodiscard]] int found_same() const { return m_found_same; }

 private:
  static RelPath at(const std::string& path) { return path.empty() ? RelPath() : rel(path); }
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(m_random() % end); }
  bool one_in(std::size_t count) { return below(count) == 0; }

  void remember() {
    m_now = describe(m_set.live());
    m_generations[m_number] = m_now;
  }

  // Without the names that are linked elsewhere.
  Descriptions subtree(std::uint64_t number, const RelPath& top) {
    Descriptions all;
    for (const auto& [path, one] : m_generations[number]) {
      if (at(path).is_within(top)) all.emplace(path, one).first->second.first_name.clear();
    }
    return all;
  }

  // --- What an operation is about: names of the tree as it was before the commit.
  const std::string& pick_any() { return std::next(m_now.begin(), static_cast<long>(below(m_now.size())))->first; }
  std::optional<RelPath> pick(FileType type) {
    const std::string& path = pick_any();
    if (m_now.at(path).type != type || path.empty()) return std::nullopt;
    return rel(path);
  }
  RelPath pick_name() {
    RelPath parent;
    if (const auto directory = pick(FileType::directory); directory && directory->depth() < 4) parent = *directory;
    return parent.child(std::string(1, static_cast<char>('a' + below(4))));
  }
  bool is_free(const RelPath& path) const {
    return std::none_of(m_touched.begin(), m_touched.end(),
                        [&](const RelPath& one) { return one.is_within(path) || path.is_within(one); });
  }
  bool survives(const RelPath& path) const {
    return std::none_of(m_touched.begin(), m_touched.end(), [&](const RelPath& one) { return path.is_within(one); });
  }
  std::string group_of(const std::string& path) const {
    const std::string& first = m_now.at(path).first_name;
    return first.empty() ? path : first;
  }

  // --- Operations on the tree
  void change_tree() {
    const RelPath path = pick_name();
    if (!is_free(path)) return;
    const std::size_t kind = below(9);
    if (kind < 4) make_room(path);
    switch (kind) {
      case 0:
      case 1: return make_file(path);
      case 2: return make_tree(path, 2);
      case 3: return m_set.symlink(path.str(), "target " + std::to_string(m_random()));
      case 4: return remove(path);
      case 5: return rename_file(path);
      case 6: return link_file(path);
      case 7: return rename_directory(path);
      default: return replace_group();
    }
  }

  // What is at `path` is kept; if nothing is, that is what is said.
  void make_room(const RelPath& path) {
    m_touched.push_back(path);
    const auto old = m_now.find(path.str());
    if (old == m_now.end()) {
      m_tree.emplace_back(Absent{path, false});
    } else {
      m_set.keep(m_number, path.str());
      m_tree.emplace_back(KeptEntry{path, old->second.type});
    }
  }
  void remove(const RelPath& path) {
    if (m_now.count(path.str()) != 0) make_room(path);
  }

  void make_file(const RelPath& path) {
    m_set.file(path.str(), std::to_string(m_random()));
    if (one_in(2)) set_random_metadata(path, FileType::regular);
  }
  void make_tree(const RelPath& path, std::size_t depth) {
    m_set.directory(path.str());
    for (const char* name : {"a", "b", "c", "d"}) {
      const RelPath child = path.child(name);
      switch (below(6)) {
        case 0: make_file(child); break;
        case 1:
          if (depth > 0) make_tree(child, depth - 1);
          break;
        case 2: link_to_any(child); break;
        default: break;
      }
    }
    set_random_metadata(path, FileType::directory);
  }
  // A new name of a file that is still there.
  void link_to_any(const RelPath& path) {
    const auto from = pick(FileType::regular);
    if (from && survives(*from)) m_set.hard_link(from->str(), path.str());
  }

  void rename_file(const RelPath& to) {
    const auto from = pick(FileType::regular);
    if (!from || !is_free(*from) || from->is_within(to) || to.is_within(*from)) return;
    make_room(to);
    m_set.hard_link(from->str(), to.str());
    make_room(*from);
    // With new metadata, as when both happened since the last run.
    if (!one_in(3) || !m_changed_groups.insert(group_of(from->str())).second) return;
    m_met_new_name = true;
    change_inode(to, from->str(), true);
  }
  void link_file(const RelPath& to) {
    const auto from = pick(FileType::regular);
    if (!from || !survives(*from) || from->is_within(to)) return;
    make_room(to);
    m_set.hard_link(from->str(), to.str());
  }
  // A new tree with the old files.
  void rename_directory(const RelPath& to) {
    const auto from = pick(FileType::directory);
    if (!from || !is_free(*from) || from->is_within(to) || to.is_within(*from)) return;
    make_room(to);
    const std::string above = from->str() + "/";
    m_set.directory(to.str());
    for (auto it = m_now.lower_bound(above); it != m_now.end() && it->first.starts_with(above); ++it) {
      const std::string path = to.str() + "/" + it->first.substr(above.size());
      if (it->second.type == FileType::directory) m_set.directory(path);
      if (it->second.type == FileType::regular) m_set.hard_link(it->first, path);
    }
    make_room(*from);
  }
  // A file with several names gets a new content.
  void replace_group() {
    const auto one = pick(FileType::regular);
    if (!one) return;
    std::optional<RelPath> first;
    for (const auto& [path, description] : m_now) {
      if (description.type != FileType::regular || group_of(path) != group_of(one->str())) continue;
      if (!is_free(rel(path))) continue;
      make_room(rel(path));
      if (first) {
        m_set.hard_link(first->str(), path);
      } else {
        make_file(rel(path));
        first = rel(path);
      }
    }
  }

  // --- Metadata
  fs::Metadata random_metadata(fs::Metadata metadata, FileType type) {
    if (one_in(2)) metadata.mtime = {static_cast<std::int64_t>(below(100000)), 5};
    if (type == FileType::symlink) return metadata;
    const std::uint32_t owner_bits = type == FileType::directory ? 0700 : 0600;
    if (one_in(2)) metadata.mode = owner_bits | static_cast<std::uint32_t>(below(64));
    if (one_in(3)) metadata.xattrs = {{"user.t", std::to_string(below(1000))}};
    if (one_in(4)) metadata.xattrs.clear();
    return metadata;
  }

  void set_random_metadata(const RelPath& path, FileType type) {
    set_metadata(m_set.live(), path, random_metadata(metadata_at(m_set.live(), path), type));
  }
  void change_metadata(const std::string& path) {
    if (!survives(at(path)) || !m_changed_groups.insert(group_of(path)).second) return;
    change_inode(at(path), path, false);
    // Perhaps it is said under the other names too.
    for (const auto& [other, description] : m_now) {
      if (other == path || group_of(other) != group_of(path) || !survives(at(other)) || one_in(2)) continue;
      m_metadata.emplace_back(OldMetadata{at(other), description.meta, true});
    }
  }
  // Of the inode that is at `path` now and was at `before`.
  void change_inode(const RelPath& path, const std::string& before, bool has_other_names) {
    const Description& old = m_now.at(before);
    set_metadata(m_set.live(), path, random_metadata(old.meta, old.type));
    m_metadata.emplace_back(OldMetadata{path, old.meta, has_other_names || links(path) > 1});
  }
  std::uint64_t links(const RelPath& path) {
    if (path.is_root() || metadata_type(path) == FileType::directory) return 1;
    return good(parent_in(m_set.live(), path)->stat_at(path.name())).links;
  }
  FileType metadata_type(const RelPath& path) { return good(parent_in(m_set.live(), path)->stat_at(path.name())).type; }
  // Directories that nothing was said of have the mtime that they had.
  void settle_directories() {
    for (const auto& [path, old] : m_now) {
      if (old.type != FileType::directory || !survives(at(path)) || m_changed_groups.count(path) != 0) continue;
      set_metadata(m_set.live(), at(path), old.meta);
    }
  }

  // The order is free, but that an inode is found by a new name only before that is said to be absent.
  std::vector<Change> all_changes() {
    std::shuffle(m_metadata.begin(), m_metadata.end(), m_random);
    std::shuffle(m_tree.begin(), m_tree.end(), m_random);
    std::vector<Change> all = m_metadata;
    all.insert(all.end(), m_tree.begin(), m_tree.end());
    if (!m_met_new_name) std::shuffle(all.begin(), all.end(), m_random);
    return all;
  }

  PastSet m_set;
  std::mt19937_64 m_random;
  std::uint64_t m_number = 0;
  int m_found_same = 0;
  Descriptions m_now;
  std::map<std::uint64_t, Descriptions> m_generations;
  // Of the commit that is being made.
  std::vector<RelPath> m_touched;
  std::vector<Change> m_metadata;
  std::vector<Change> m_tree;
  bool m_met_new_name = false;
  std::set<std::string> m_changed_groups;
};

// Returns how many equal subtrees were found.
template <class World>
int run_history(std::uint64_t seed, int generations) {
  World world;
  RandomHistory history(world.root(), seed);
  for (int i = 0; i < generations; ++i) history.commit();
  INFO("seed " << seed);
  history.check();
  for (int i = 0; i < 3; ++i) history.check_same_subtrees();
  return history.found_same();
}

}  // namespace

TEST_CASE("past: random histories look as they were", "[txn][past]") {
  int found_same = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) found_same += run_history<SimWorld>(seed, 6);
  CHECK(found_same > 300);
}

TEST_CASE("past: longer random histories look as they were", "[txn][past]") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) run_history<SimWorld>(seed, 40);
}

TEST_CASE("past: random histories on a real file system", "[txn][past]") {
  for (std::uint64_t seed = 1001; seed <= 1008; ++seed) run_history<PosixWorld>(seed, 6);
}

}  // namespace nb::txn::test
