// SPDX-License-Identifier: Apache-2.0
#include "past_world.hpp"

#include <sstream>

#include "fs/metadata.hpp"
#include "txn/change_list.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"

namespace nb::txn::test {
namespace {

constexpr std::uint32_t k_file_mode = 0644;
constexpr std::uint32_t k_directory_mode = 0755;
constexpr fs::Timestamp k_mtime{1000, 0};

bool same(const fs::Stat& a, const fs::Stat& b) {
  return a.type == b.type && a.mode == b.mode && a.owner == b.owner && a.size == b.size && a.mtime == b.mtime &&
         a.inode == b.inode && a.device == b.device;
}

class Describer {
 public:
  void walk(const fs::Directory& directory, const RelPath& path) {
    all[path.str()] = {fs::FileType::directory, of(good(directory.stat()), good(directory.xattrs())), {}, {}};
    for (const fs::NamedType& name : good(directory.list())) {
      if (is_reserved_name(name.name)) continue;
      const fs::Stat stat = good(directory.stat_at(name.name));
      REQUIRE(stat.type == name.type);
      const fs::Xattrs xattrs = good(directory.xattrs_at(name.name));
      check(*good(directory.open_node(name.name)), stat, xattrs);
      if (stat.type == fs::FileType::directory) {
        const auto below = good(directory.open_directory(name.name));
        check(*below, stat, xattrs);
        walk(*below, path.child(name.name));
      } else {
        all[path.child(name.name).str()] = describe(directory, path.child(name.name), stat, xattrs);
      }
    }
  }

  Descriptions all;

 private:
  static fs::Metadata of(const fs::Stat& stat, const fs::Xattrs& xattrs) {
    return {stat.mode, stat.owner, stat.mtime, xattrs};
  }
  static void check(const fs::Node& node, const fs::Stat& stat, const fs::Xattrs& xattrs) {
    REQUIRE(same(good(node.stat()), stat));
    REQUIRE(good(node.xattrs()) == xattrs);
  }
  Description describe(const fs::Directory& directory, const RelPath& path, const fs::Stat& stat,
                       const fs::Xattrs& xattrs) {
    Description one{stat.type, of(stat, xattrs), {}, m_first.emplace(stat.inode, path.str()).first->second};
    if (one.first_name == path.str()) one.first_name.clear();
    if (stat.type == fs::FileType::symlink) one.content = good(directory.read_link(path.name()));
    if (stat.type == fs::FileType::regular) {
      const auto file = good(directory.open_file(path.name(), fs::OpenMode::read));
      check(*file, stat, xattrs);
      one.content = fs::test::read_all(*file);
    }
    return one;
  }
  std::map<std::uint64_t, std::string> m_first;
};

}  // namespace

Descriptions describe(const fs::Directory& root) {
  Describer describer;
  describer.walk(root, {});
  for (const auto& [path, one] : describer.all) {
    if (one.type != fs::FileType::directory) continue;
    const auto opened = good(root.open_directory_path(rel(path)));
    REQUIRE(good(opened->stat()).mtime == one.meta.mtime);
  }
  return describer.all;
}

std::string show(const Descriptions& tree) {
  std::ostringstream out;
  for (const auto& [path, one] : tree) {
    out << "'" << path << "' " << static_cast<int>(one.type) << " " << std::oct << one.meta.mode << std::dec << " "
        << one.meta.mtime.sec << " '" << one.content << "'";
    for (const fs::Xattr& xattr : one.meta.xattrs) out << " " << xattr.name << "=" << xattr.value;
    if (!one.first_name.empty()) out << " = '" << one.first_name << "'";
    out << "\n";
  }
  return out.str();
}

Absent absent(std::string_view path) { return {rel(path), false}; }
Absent lost(std::string_view path) { return {rel(path), true}; }
KeptEntry kept(std::string_view path, fs::FileType type) { return {rel(path), type}; }
OldMetadata old_metadata(std::string_view path, std::uint32_t mode, std::int64_t mtime) {
  return {path.empty() ? RelPath() : rel(path), {mode, {}, {mtime, 0}, {{"user.t", "old"}}}, false};
}
OldMetadata old_of_all_names(std::string_view path, std::uint32_t mode, std::int64_t mtime) {
  OldMetadata change = old_metadata(path, mode, mtime);
  change.shared = true;
  return change;
}

std::unique_ptr<fs::Directory> parent_in(const fs::Directory& base, const RelPath& path) {
  if (path.depth() <= 1) return good(base.reopen());
  const auto above = parent_in(base, path.parent());
  return good(open_or_create_directory(*above, path.parent().name()));
}

fs::Metadata metadata_at(const fs::Directory& base, const RelPath& path) {
  if (path.is_root()) {
    const fs::Stat stat = good(base.stat());
    return {stat.mode, stat.owner, stat.mtime, good(base.xattrs())};
  }
  const auto parent = parent_in(base, path);
  const fs::Stat stat = good(parent->stat_at(path.name()));
  return {stat.mode, stat.owner, stat.mtime, good(parent->xattrs_at(path.name()))};
}

void set_metadata(const fs::Directory& base, const RelPath& path, const fs::Metadata& metadata) {
  std::unique_ptr<fs::Node> node;
  if (path.is_root()) {
    node = good(base.reopen());
  } else {
    node = good(parent_in(base, path)->open_node(path.name()));
  }
  for (const fs::Xattr& xattr : good(node->xattrs())) good(node->remove_xattr(xattr.name));
  for (const fs::Xattr& xattr : metadata.xattrs) good(node->set_xattr(xattr.name, xattr.value));
  if (good(node->stat()).type != fs::FileType::symlink) good(node->set_mode(metadata.mode));
  good(node->set_mtime(metadata.mtime));
}

PastSet::PastSet(const fs::Directory& root)
    : m_set(good(FileSet::create(good(root.reopen()), Lifetime::permanent, test_secret()))) {}

std::unique_ptr<fs::Directory> PastSet::directory_of(std::uint64_t number) {
  const auto history = good(open_or_create_directory(m_set->control(), k_history_name));
  return good(open_or_create_directory(*history, std::to_string(number)));
}

std::unique_ptr<fs::Directory> PastSet::files(std::uint64_t number) {
  return good(open_or_create_directory(*directory_of(number), k_files_name));
}

std::unique_ptr<fs::Directory> PastSet::past(std::uint64_t number) { return good(open_past(*m_set, number)); }

void PastSet::file(std::string_view path, std::string_view content) {
  const auto made = fs::test::write(*parent_in(live(), rel(path)), rel(path).name(), content);
  good(made->set_mode(k_file_mode));
  good(made->set_mtime(k_mtime));
}

void PastSet::symlink(std::string_view path, const std::string& target) {
  good(parent_in(live(), rel(path))->create_symlink(rel(path).name(), target));
}

void PastSet::directory(std::string_view path) {
  const auto made = good(parent_in(live(), rel(path))->create_directory(rel(path).name()));
  good(made->set_mode(k_directory_mode));
  good(made->set_mtime(k_mtime));
}

void PastSet::hard_link(std::string_view path, std::string_view new_path) {
  const auto to = parent_in(live(), rel(new_path));
  good(parent_in(live(), rel(path))->link(rel(path).name(), *to, rel(new_path).name()));
}

void PastSet::chmod(std::string_view path, std::uint32_t mode) {
  good(good(parent_in(live(), rel(path))->open_node(rel(path).name()))->set_mode(mode));
}

void PastSet::keep(std::uint64_t number, std::string_view path) {
  const auto to = parent_in(*files(number), rel(path));
  const auto from = parent_in(live(), rel(path));
  good(from->rename(rel(path).name(), *to, rel(path).name(), fs::RenameMode::no_replace));
}

void PastSet::remove(std::string_view path) { good(fs::remove_tree(*parent_in(live(), rel(path)), rel(path).name())); }

void PastSet::write_account(const Generation& generation) {
  good(write_new_file(*directory_of(generation.number), k_generation_name, encode(generation)));
}

void PastSet::set_head(std::uint64_t number) {
  good(remove_if_there(m_set->control(), k_head_name));
  good(write_new_file(m_set->control(), k_head_name, encode(Head{number, tx_id(1), 1, {}})));
  good(m_set->reload());
}

void PastSet::commit(std::uint64_t number, const std::vector<Change>& changes, std::uint64_t previous) {
  write_account({number, previous, tx_id(1), 1, {}});
  auto writer = good(ChangeListWriter::create(*directory_of(number), k_changes_name, {number, previous}));
  for (const Change& change : changes) good(writer.append(change));
  good(writer.finish());
  set_head(number);
}

void PastSet::base(std::uint64_t number) {
  write_account({number, std::nullopt, tx_id(1), 1, {}});
  set_head(number);
}

}  // namespace nb::txn::test
