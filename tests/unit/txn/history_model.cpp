// SPDX-License-Identifier: Apache-2.0
// Reading histories by the letter of docs/formats.md; history_maker.cpp makes them.
#include "history_model.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "txn/change_list.hpp"
#include "txn/history.hpp"
#include "txn/past_tree.hpp"
#include "txn/small_file.hpp"

namespace nb::txn::test {
namespace {

using fs::FileType;
using DirectoryPtr = std::unique_ptr<fs::Directory>;

RelPath rel(const std::string& text) { return RelPath::parse(text).value(); }
bool within(const std::string& path, const std::string& top) { return rel(path).is_within(rel(top)); }

// --- Reading them ---

class Reader {
 public:
  Reader(const fs::SimFileSystem& disk, bool lossy) : m_lossy(lossy), m_root(disk.root()) {
    m_set = FileSet::open(disk.root()).value();
    m_history = m_set->control().open_directory(k_history_name).value();
    m_state[""] = {m_root->reopen().value(), "", {}, 0};
    walk(*m_root, "", "");
  }

  void back_over(std::uint64_t number) {
    const DirectoryPtr entry = m_history->open_directory(std::to_string(number)).value();
    const Generation account = decode_generation(read_small_file(*entry, k_generation_name).value()).value();
    REQUIRE(account.previous);
    m_entry = entry.get();
    const Status read = read_changes(*entry, k_changes_name, {number, *account.previous}, [this](const Change& change) {
      std::visit([this](const auto& one) { apply(one); }, change);
      return Status();
    });
    INFO((read ? std::string("ok") : read.error().message()));
    REQUIRE(read);
  }

  Tree tree() {
    Tree tree;
    for (const auto& [path, place] : m_state) {
      if (path.starts_with(k_control_name)) continue;
      tree[path] = entry(place);
    }
    return tree;
  }

 private:
  struct Place {
    std::shared_ptr<fs::Directory> parent;  // the directory itself, for the root
    std::string name;
    std::optional<fs::Metadata> own;
    std::uint64_t own_order = 0;
  };
  struct Known {
    fs::Metadata metadata;
    std::uint64_t order = 0;
  };

  void walk(fs::Directory& directory, const std::string& prefix, const std::string& hidden) {
    const std::shared_ptr<fs::Directory> held = directory.reopen().value();
    const std::vector<fs::NamedType> names = directory.list().value();
    for (const fs::NamedType& each : names) {
      if (prefix.empty() && (each.name == k_control_name || each.name == hidden)) continue;
      const std::string path = prefix.empty() ? each.name : prefix + "/" + each.name;
      m_state[path] = {held, each.name, {}, 0};
      if (each.type == FileType::directory) walk(*directory.open_directory(each.name).value(), path, hidden);
    }
  }

  void forget(const std::string& top) {
    std::erase_if(m_state, [&](const auto& each) { return within(each.first, top); });
  }

  void apply(const Absent& change) {
    forget(change.path.str());
    if (change.lost) m_state[change.path.str()] = {nullptr, "lost", {}, 0};
  }

  void apply(const KeptEntry& change) {
    const std::string path = change.path.str();
    forget(path);
    const RelPath parent = rel("files/" + path).parent();
    auto opened = m_entry->open_directory_path(parent);
    if (!opened || !find_name(**opened, change.path.name()).value()) {
      if (!is_anchor(change.path)) m_state[path] = {nullptr, "lost", {}, 0};
      return;
    }
    const std::shared_ptr<fs::Directory> held = std::move(*opened);
    const std::string name(change.path.name());
    CHECK(held->stat_at(name).value().type == change.type);
    m_state[path] = {held, name, {}, 0};
    if (change.type == FileType::directory) walk(*held->open_directory(name).value(), path, "");
  }

  void apply(const OldMetadata& change) {
    ++m_order;
    const auto it = m_state.find(change.path.str());
    if (it == m_state.end() || !it->second.parent) {
      if (!m_lossy && !is_anchor(change.path)) FAIL("metadata of '" << change.path.str() << "', which is not there");
      return;
    }
    if (change.shared) {
      m_inodes[stat_of(it->second).inode] = {change.metadata, m_order};
    } else {
      it->second.own = change.metadata;
      it->second.own_order = m_order;
    }
  }

  static fs::Stat stat_of(const Place& place) {
    return place.name.empty() ? place.parent->stat().value() : place.parent->stat_at(place.name).value();
  }

  Entry entry(const Place& place) {
    if (!place.parent) return symlink("lost");
    const fs::Stat stat = stat_of(place);
    fs::Metadata metadata{stat.mode, stat.owner, stat.mtime, {}};
    if (!place.name.empty()) metadata.xattrs = place.parent->xattrs_at(place.name).value();
    std::uint64_t order = 0;
    if (const auto it = m_inodes.find(stat.inode); it != m_inodes.end()) {
      metadata = it->second.metadata;
      order = it->second.order;
    }
    if (place.own && place.own_order > order) metadata = *place.own;
    Entry entry{stat.type, metadata.mode, metadata.mtime.sec, {}, {}};
    for (const fs::Xattr& each : metadata.xattrs) entry.xattr = each.value;
    if (stat.type == FileType::regular) {
      entry.content = std::string(as_text(read_small_file(*place.parent, place.name).value()));
    }
    if (stat.type == FileType::symlink) entry.content = place.parent->read_link(place.name).value();
    return entry;
  }

  bool m_lossy;
  DirectoryPtr m_root;
  std::unique_ptr<FileSet> m_set;
  DirectoryPtr m_history;
  fs::Directory* m_entry = nullptr;
  std::map<std::string, Place> m_state;
  std::map<std::uint64_t, Known> m_inodes;
  std::uint64_t m_order = 0;
};

std::vector<std::uint64_t> numbers_of(const fs::SimFileSystem& disk) {
  const auto set = FileSet::open(disk.root()).value();
  return History::open(*set).value().numbers();
}

std::string compare(std::uint64_t number, const Tree& found, const Tree& expected) {
  if (found == expected) return {};
  std::string text = "generation " + std::to_string(number) + " is\n";
  for (const auto& [path, entry] : found) {
    if (!expected.contains(path) || !(expected.at(path) == entry)) text += "  + " + show({{path, entry}});
  }
  for (const auto& [path, entry] : expected) {
    if (!found.contains(path) || !(found.at(path) == entry)) text += "  - " + show({{path, entry}});
  }
  return text;
}

Tree open_and_read(const fs::SimFileSystem& disk, std::uint64_t number) {
  const auto set = FileSet::open(disk.root()).value();
  const auto past = open_past(*set, number).value();
  return read_tree(*past);
}

// What lies in files/ of a generation without being kept there: neither in what an entry of its list names nor above
// it. A power cut leaves anchors that were made for nothing; as one more name they take no room.
std::string strays_of(const fs::SimFileSystem& disk, std::uint64_t number) {
  const auto set = FileSet::open(disk.root()).value();
  const auto history = History::open(*set).value();
  const Generation account = history.read(number).value();
  std::set<std::string> kept;
  if (account.previous) {
    REQUIRE(history.for_each_change(account, [&](const Change& change) {
      if (const auto* entry = std::get_if<KeptEntry>(&change)) kept.insert(entry->path.str());
      return Status();
    }));
  }
  const auto files =
      open_if_there(*set->control().open_directory_path(rel("history/" + std::to_string(number))).value(), k_files_name)
          .value();
  if (!files) return {};
  std::string strays;
  std::vector<std::string> to_do{""};
  while (!to_do.empty()) {
    const std::string path = std::move(to_do.back());
    to_do.pop_back();
    const auto directory = path.empty() ? files->reopen().value() : files->open_directory_path(rel(path)).value();
    const std::vector<fs::NamedType> names = directory->list().value();
    for (const fs::NamedType& each : names) {
      const std::string below = path.empty() ? each.name : path + "/" + each.name;
      if (kept.contains(below)) continue;
      if (each.type == FileType::directory) {
        to_do.push_back(below);
      } else if (!is_anchor(rel(below)) || directory->stat_at(each.name).value().links == 1) {
        strays += "history/" + std::to_string(number) + "/files/" + below + " ";
      }
    }
  }
  return strays;
}

}  // namespace

std::vector<std::uint64_t> kept_generations(const fs::SimFileSystem& disk) { return numbers_of(disk); }

Tree read_past(const fs::SimFileSystem& disk, std::uint64_t generation, bool lossy) {
  Reader reader(disk, lossy);
  std::vector<std::uint64_t> numbers = numbers_of(disk);
  for (auto it = numbers.rbegin(); it != numbers.rend() && *it != generation; ++it) reader.back_over(*it);
  return reader.tree();
}

std::string judge_history(const fs::SimFileSystem& disk, const Model& model) {
  for (const std::uint64_t number : kept_generations(disk)) {
    const std::string strays = strays_of(disk, number);
    if (!strays.empty()) return "kept for nothing: " + strays;
    const Tree& expected = model.described.at(number);
    std::string verdict = compare(number, read_past(disk, number, model.is_lossy), expected);
    if (verdict.empty() && !model.is_lossy) verdict = compare(number, open_and_read(disk, number), expected);
    if (!verdict.empty()) return verdict;
  }
  return {};
}

}  // namespace nb::txn::test
