// SPDX-License-Identifier: Apache-2.0
// Making histories; history_model.cpp reads them.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "fs/metadata.hpp"
#include "history_model.hpp"
#include "txn/change_list.hpp"
#include "txn/history.hpp"
#include "txn/small_file.hpp"

namespace nb::txn::test {
namespace {

using fs::FileType;
using DirectoryPtr = std::unique_ptr<fs::Directory>;

RelPath rel(const std::string& text) { return RelPath::parse(text).value(); }
bool within(const std::string& path, const std::string& top) { return rel(path).is_within(rel(top)); }

fs::Metadata metadata_of(const fs::Node& node) {
  const fs::Stat stat = node.stat().value();
  return {stat.mode, stat.owner, stat.mtime, node.xattrs().value()};
}

enum class Kind { place, remove, rename, link, metadata };

struct Op {
  Kind kind = Kind::place;
  std::string path;
  std::string source;  // rename, link
  fs::Metadata before;
  std::uint64_t slot = 0;
};

class Maker {
 public:
  explicit Maker(const ModelOptions& options) : m_options(options), m_disk(options.disk), m_random(options.seed) {
    REQUIRE(FileSet::create(m_disk.root(), Lifetime::permanent, test_secret()));
    m_root = m_disk.root();
    m_control = m_root->open_directory(k_control_name).value();
    m_history = m_control->create_directory(k_history_name).value();
    m_fresh = m_control->create_directory("fresh").value();
    m_old = m_control->create_directory("old").value();
    for (int i = 0; i < 4; ++i) fill(*m_root, std::string(1, "abcd"[i]), 2);
    file_generation(0, nullptr);
  }

  void step(std::uint64_t number) {
    m_ops.clear();
    m_moved.clear();
    m_live = read_tree(*m_root);
    for (std::uint64_t i = 0, count = 1 + below(6); i < count; ++i) plan_one();
    plan_parents();
    for (Op& op : m_ops) {
      if (op.kind == Kind::metadata) op.before = metadata_of(*node_at(op.path));
    }
    const DirectoryPtr entry = m_history->create_directory(std::to_string(number)).value();
    open_up_parents();
    for (Op& op : m_ops) stage(op);
    for (const Op& op : m_ops) apply_move(op);
    // The root's time has moved with the names in it; its own operation comes last.
    for (const Op& op : m_ops) apply_metadata(op);
    file(number, *entry);
    file_generation(number, entry.get());
  }

  ModelOptions m_options;
  fs::SimFileSystem m_disk;
  Described m_described;

 private:
  std::uint64_t below(std::uint64_t bound) { return m_random() % bound; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

  std::string some_name() { return std::string(1, "abcde"[below(5)]); }
  std::int64_t some_time() { return static_cast<std::int64_t>(1000 + below(100'000)); }

  void finish(fs::Node& node, std::uint32_t mode) {
    REQUIRE(node.set_mode(mode));
    REQUIRE(node.set_mtime({some_time(), 0}));
  }

  std::uint32_t some_mode(FileType type) {
    if (type == FileType::directory) return std::array<std::uint32_t, 4>{0755, 0700, 0555, 0500}[below(4)];
    return std::array<std::uint32_t, 4>{0644, 0600, 0444, 04755}[below(4)];
  }

  void fill(fs::Directory& in, const std::string& name, int depth) {
    if (depth > 0 && chance(50)) {
      const DirectoryPtr made = in.create_directory(name).value();
      for (std::uint64_t i = 0, count = below(4); i < count; ++i) {
        const std::string child = some_name();
        if (!find_name(*made, child).value()) fill(*made, child, depth - 1);
      }
      finish(*made, some_mode(FileType::directory));
    } else if (chance(10)) {
      REQUIRE(in.create_symlink(name, "target" + std::to_string(below(3))));
      REQUIRE(in.open_node(name).value()->set_mtime({some_time(), 0}));
    } else {
      REQUIRE(write_new_file(in, name, as_bytes("content " + std::to_string(m_content++))));
      const auto node = in.open_node(name).value();
      if (chance(20)) REQUIRE(node->set_xattr("user.t", std::to_string(below(5))));
      finish(*node, some_mode(FileType::regular));
    }
  }

  DirectoryPtr directory_at(const std::string& path) {
    return path.empty() ? m_root->reopen().value() : m_root->open_directory_path(rel(path)).value();
  }
  std::string parent_of(const std::string& path) { return rel(path).parent().str(); }
  std::string name_of(const std::string& path) { return std::string(rel(path).name()); }
  std::unique_ptr<fs::Node> node_at(const std::string& path) {
    if (path.empty()) return m_root->reopen().value();
    return directory_at(parent_of(path))->open_node(name_of(path)).value();
  }

  bool is_free_to_move(const std::string& path) {
    return std::none_of(m_moved.begin(), m_moved.end(),
                        [&](const std::string& each) { return within(path, each) || within(each, path); });
  }
  bool is_moved(const std::string& path) {
    return std::any_of(m_moved.begin(), m_moved.end(), [&](const std::string& each) { return within(path, each); });
  }

  std::string some_entry() {
    if (m_live.size() < 2) return {};
    auto it = std::next(m_live.begin(), static_cast<std::ptrdiff_t>(1 + below(m_live.size() - 1)));
    return it->first;
  }

  // A place in a directory that is there and stays.
  std::string some_place() {
    std::vector<std::string> directories;
    for (const auto& [path, entry] : m_live) {
      if (entry.type == FileType::directory && rel(path).depth() < 3 && !is_moved(path)) directories.push_back(path);
    }
    const std::string& chosen = directories[below(directories.size())];
    return chosen.empty() ? some_name() : chosen + "/" + some_name();
  }

  void plan_one() {
    const std::uint64_t kind = below(100);
    if (kind < 30) plan_move(Kind::place, some_place(), {});
    if (kind >= 30 && kind < 50) plan_move(Kind::remove, some_entry(), {});
    if (kind >= 50 && kind < 65) plan_from(Kind::rename);
    if (kind >= 65 && kind < 75) plan_from(Kind::link);
    if (kind >= 75) plan_metadata(some_entry());
  }

  bool plan_move(Kind kind, const std::string& path, const std::string& source) {
    if (path.empty() || !is_free_to_move(path)) return false;
    const bool renames = kind == Kind::rename;
    if (renames && (!is_free_to_move(source) || within(path, source) || within(source, path))) return false;
    if (has_metadata(path) || (renames && has_metadata(source))) return false;
    m_ops.push_back({kind, path, source, {}, 0});
    m_moved.push_back(path);
    if (renames) {
      m_ops.push_back({Kind::remove, source, {}, {}, 0});
      m_moved.push_back(source);
    }
    return true;
  }

  void plan_from(Kind kind) {
    const std::string source = some_entry();
    if (source.empty() || is_moved(source)) return;
    if (kind == Kind::link && m_live.at(source).type != FileType::regular) return;
    plan_move(kind, some_place(), source);
  }

  bool has_metadata(const std::string& top) {
    return std::any_of(m_ops.begin(), m_ops.end(),
                       [&](const Op& op) { return op.kind == Kind::metadata && within(op.path, top); });
  }

  // Through every name that the inode has: they are alike where it comes from, too.
  void plan_metadata(const std::string& path) {
    if (path.empty() || is_moved(path)) return;
    const fs::Stat stat = node_at(path)->stat().value();
    for (const auto& [each, entry] : m_live) {
      if (each.empty() || is_moved(each) || has_own_metadata(each)) continue;
      if (node_at(each)->stat().value().inode == stat.inode) m_ops.push_back({Kind::metadata, each, {}, {}, 0});
    }
  }

  bool has_own_metadata(const std::string& path) {
    return std::any_of(m_ops.begin(), m_ops.end(),
                       [&](const Op& op) { return op.kind == Kind::metadata && op.path == path; });
  }

  // A directory whose names change gets its own time: parents before children, applied in reverse.
  void plan_parents() {
    std::set<std::string> parents;
    for (const std::string& path : m_moved) parents.insert(parent_of(path));
    for (const std::string& path : parents) {
      if (is_moved(path) || has_own_metadata(path)) continue;
      if (chance(30)) {
        m_unchanged.emplace_back(path, metadata_of(*node_at(path)));
      } else {
        m_ops.push_back({Kind::metadata, path, {}, {}, 0});
      }
    }
  }

  void open_up_parents() {
    for (const auto& [path, metadata] : m_unchanged) REQUIRE(node_at(path)->set_mode(0700));
    for (const Op& op : m_ops) {
      if (op.kind != Kind::metadata || m_live.at(op.path).type != FileType::directory) continue;
      REQUIRE(node_at(op.path)->set_mode(0700));
    }
  }

  void copy_links(fs::Directory& from, const std::string& name, fs::Directory& to, const std::string& new_name) {
    const fs::Stat stat = from.stat_at(name).value();
    if (stat.type != FileType::directory) {
      REQUIRE(from.link(name, to, new_name));
      return;
    }
    const DirectoryPtr made = to.create_directory(new_name).value();
    const DirectoryPtr source = from.open_directory(name).value();
    const std::vector<fs::NamedType> names = source->list().value();
    for (const fs::NamedType& each : names) copy_links(*source, each.name, *made, each.name);
    REQUIRE(made->set_mode(stat.mode));
    REQUIRE(made->set_mtime(stat.mtime));
  }

  void stage(Op& op) {
    op.slot = ++m_slot;
    const std::string slot = std::to_string(op.slot);
    if (op.kind == Kind::place) fill(*m_fresh, slot, 2);
    if (op.kind == Kind::rename || op.kind == Kind::link) {
      copy_links(*directory_at(parent_of(op.source)), name_of(op.source), *m_fresh, slot);
    }
  }

  // A directory's mode is opened for the move and, where it came in, set again.
  void move(fs::Directory& from, const std::string& name, fs::Directory& to, const std::string& new_name, bool close) {
    const auto node = from.open_node(name).value();
    const fs::Stat stat = node->stat().value();
    const bool closed = stat.type == FileType::directory && (stat.mode & 0700U) != 0700U;
    const bool opens = closed && m_options.disk.enforce_modes;
    if (opens) REQUIRE(node->set_mode(stat.mode | 0700U));
    REQUIRE(from.rename(name, to, new_name, fs::RenameMode::no_replace));
    if (opens && close) REQUIRE(to.open_node(new_name).value()->set_mode(stat.mode));
  }

  void apply_move(const Op& op) {
    if (op.kind == Kind::metadata) return;
    const DirectoryPtr parent = directory_at(parent_of(op.path));
    const std::string name = name_of(op.path);
    if (find_name(*parent, name).value()) {
      m_modes[op.slot] = parent->stat_at(name).value().mode;
      move(*parent, name, *m_old, std::to_string(op.slot), false);
    }
    if (op.kind != Kind::remove) move(*m_fresh, std::to_string(op.slot), *parent, name, true);
  }

  void apply_metadata(const Op& op) {
    if (op.kind != Kind::metadata) return;
    const auto node = node_at(op.path);
    const FileType type = node->stat().value().type;
    if (type == FileType::regular && chance(30)) REQUIRE(node->set_xattr("user.t", std::to_string(below(5))));
    if (type != FileType::symlink) m_closing.push_back({op.path, chance(50) ? op.before.mode : some_mode(type)});
    REQUIRE(node->set_mtime({some_time(), 0}));
  }

  void close() {
    std::sort(m_closing.rbegin(), m_closing.rend());
    for (const auto& [path, mode] : m_closing) REQUIRE(node_at(path)->set_mode(mode));
    m_closing.clear();
    std::sort(m_unchanged.rbegin(), m_unchanged.rend(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [path, metadata] : m_unchanged) {
      const auto node = node_at(path);
      REQUIRE(node->set_mtime(metadata.mtime));
      REQUIRE(node->set_mode(metadata.mode));
    }
    m_unchanged.clear();
  }

  // As a commit files its journal: metadata, then moves, backward, and then what a directory's mode was.
  void file(std::uint64_t number, fs::Directory& entry) {
    auto list = ChangeListWriter::create(entry, k_changes_name, {number, number - 1}).value();
    for (auto op = m_ops.rbegin(); op != m_ops.rend(); ++op) {
      if (op->kind != Kind::metadata) continue;
      const fs::Stat stat = node_at(op->path)->stat().value();
      const bool shared = stat.type != FileType::directory && stat.links > 1;
      REQUIRE(list.append(OldMetadata{rel(op->path), op->before, shared}));
    }
    for (auto op = m_ops.rbegin(); op != m_ops.rend(); ++op) {
      if (op->kind == Kind::metadata) continue;
      const std::string slot = std::to_string(op->slot);
      const auto old = find_name(*m_old, slot).value();
      if (old && m_options.lossy && chance(10)) {
        REQUIRE(fs::remove_tree(*m_old, slot));
        REQUIRE(list.append(Absent{rel(op->path), true}));
        continue;
      }
      if (!old) {
        REQUIRE(list.append(Absent{rel(op->path)}));
        continue;
      }
      DirectoryPtr parent = open_or_create_directory(entry, k_files_name).value();
      for (std::string rest = parent_of(op->path); !rest.empty();) {
        const std::size_t end = std::min(rest.find('/'), rest.size());
        parent = open_or_create_directory(*parent, rest.substr(0, end)).value();
        rest.erase(0, end + 1);
      }
      REQUIRE(m_old->rename(slot, *parent, name_of(op->path), fs::RenameMode::no_replace));
      REQUIRE(list.append(KeptEntry{rel(op->path), old->type}));
      if (m_options.lossy && chance(5)) {
        REQUIRE(fs::remove_tree(*parent, name_of(op->path)));
        continue;
      }
      if (m_modes[op->slot] == old->mode) continue;
      fs::Metadata was = metadata_of(*parent->open_node(name_of(op->path)).value());
      was.mode = m_modes[op->slot];
      REQUIRE(list.append(OldMetadata{rel(op->path), was, false}));
    }
    REQUIRE(list.finish());
    close();
  }

  void file_generation(std::uint64_t number, fs::Directory* entry) {
    const DirectoryPtr made = entry == nullptr ? m_history->create_directory(std::to_string(number)).value() : nullptr;
    Generation account;
    account.number = number;
    if (number > 0) account.previous = number - 1;
    account.time_ns = static_cast<std::int64_t>(number) * 1'000'000'000;
    REQUIRE(write_new_file(entry == nullptr ? *made : *entry, k_generation_name, encode(account)));
    Head head;
    head.generation = number;
    REQUIRE(remove_if_there(*m_control, "head"));
    REQUIRE(write_new_file(*m_control, "head", encode(head)));
    m_described[number] = read_tree(*m_root);
  }

  std::mt19937_64 m_random;
  DirectoryPtr m_root;
  DirectoryPtr m_control;
  DirectoryPtr m_history;
  DirectoryPtr m_fresh;
  DirectoryPtr m_old;
  Tree m_live;
  std::vector<Op> m_ops;
  std::vector<std::string> m_moved;
  std::vector<std::pair<std::string, std::uint32_t>> m_closing;
  std::vector<std::pair<std::string, fs::Metadata>> m_unchanged;  // as after a change that left no trace in them
  std::map<std::uint64_t, std::uint32_t> m_modes;
  std::uint64_t m_slot = 0;
  std::uint64_t m_content = 0;
};

}  // namespace

Model::Model(const ModelOptions& options) {
  Maker maker(options);
  for (std::uint64_t number = 1; number <= options.steps; ++number) maker.step(number);
  disk = maker.m_disk.after_crash(fs::CrashChoice::keep_all());
  const auto control = disk.root()->open_directory(k_control_name).value();
  REQUIRE(control->remove_directory("fresh"));
  REQUIRE(control->remove_directory("old"));
  disk = disk.after_crash(fs::CrashChoice::keep_all());
  described = std::move(maker.m_described);
  // What cannot be had any more is found by reading, before anything is dropped.
  if (options.lossy) {
    for (auto& [number, tree] : described) tree = read_past(disk, number, true);
  }
  is_lossy = options.lossy;
}

}  // namespace nb::txn::test
