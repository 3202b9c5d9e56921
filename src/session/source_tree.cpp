// SPDX-License-Identifier: Apache-2.0
#include "session/source_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>

#include "base/unreadable.hpp"
#include "session/mount_point.hpp"

namespace nb::session {
namespace {

// Whether an origin has any name of its own, hidden ones included.
enum class Shows : std::uint8_t { something, nothing };

// The listings of several origins as one. Names stay sorted because a map is; the first origin wins, and directories of
// one name are read together later.
class Merger {
 public:
  // Whether `name`, of the next origin, gives way to that of an earlier one. It must do so before it is looked at: as the
  // first of a group of hard links it would stand for a file that is never sent.
  bool hides(const fs::NamedType& name) {
    const bool hidden = gives_way(name);
    m_hid |= hidden;
    if (!hidden) expect(name.name);
    return hidden;
  }

  // The next origin has that name, whether it can tell of it or not.
  void expect(const std::string& name) { m_seen.insert(name); }

  // One origin's listing could not be had.
  void miss(Error error) {
    m_out.listed.problems.push_back(std::move(error));
    m_out.listed.partial = true;
    m_missed = true;
  }

  // After hides() was asked for each name of it. `is_foreign`: of what it has there.
  Shows add(std::uint16_t origin, scan::Listed listed, const std::function<bool(const fs::Stat&)>& is_foreign) {
    const bool is_empty = listed.entries.empty() && !m_hid;
    scan::Listed& all = m_out.listed;
    if (!all.own) {
      all.own = std::move(listed.own);
      all.device = listed.device;
    }
    all.partial |= listed.partial;
    all.vanished.insert(all.vanished.end(), listed.vanished.begin(), listed.vanished.end());
    all.problems.insert(all.problems.end(), listed.problems.begin(), listed.problems.end());
    for (const std::string& path : listed.vanished) m_seen.erase(path.substr(path.rfind('/') + 1));
    for (std::size_t i = 0; i < listed.entries.size(); ++i) {
      std::string name = listed.entries[i].name;
      m_seen.erase(name);
      const auto [it, is_new] =
          m_items.try_emplace(std::move(name), Item{std::move(listed.entries[i]), listed.stats[i], {}, {}});
      it->second.origins.push_back(origin);
      if (it->second.entry.type == fs::FileType::directory && is_foreign(listed.stats[i])) {
        it->second.foreign.push_back(origin);
      }
    }
    m_unread.merge(m_seen);
    m_seen.clear();
    m_hid = false;
    return is_empty ? Shows::nothing : Shows::something;
  }

  SourceListing finish() {
    for (auto& [name, item] : m_items) {
      if (m_missed || m_unread.contains(name)) m_out.gaps.insert(name);
      m_out.listed.entries.push_back(std::move(item.entry));
      m_out.listed.stats.push_back(item.stat);
      m_out.origins.push_back(std::move(item.origins));
      m_out.foreign.push_back(std::move(item.foreign));
    }
    return std::move(m_out);
  }

 private:
  bool gives_way(const fs::NamedType& name) {
    const auto it = m_items.find(name.name);
    if (it == m_items.end()) return m_unread.contains(name.name);
    const bool was_directory = it->second.entry.type == fs::FileType::directory;
    const bool is_directory = name.type == fs::FileType::directory;
    // As with two files of one name the first counts; but here a whole tree may stay behind.
    if (was_directory != is_directory) {
      m_out.listed.problems.push_back({Errc::exists, 0, name.name + ": a directory in one source, not in another"});
    }
    return !was_directory || !is_directory || m_unread.contains(name.name);
  }

  struct Item {
    wire::Entry entry;
    fs::Stat stat;
    Origins origins;
    Origins foreign;
  };
  std::map<std::string, Item> m_items;
  SourceListing m_out;
  std::set<std::string> m_seen;    // names of the next origin that are not hidden
  bool m_hid = false;              // one of it was
  bool m_missed = false;           // an origin is not in it
  std::set<std::string> m_unread;  // names that an origin has and could not tell of
};

// Of a directory that could not be listed, as it is told.
Error missed(Error error, std::string shown) {
  if (error.code == Errc::not_found) return {Errc::vanished, error.sys_errno, std::move(shown)};
  return unreadable(std::move(error), std::move(shown));
}

std::string joined(const std::string& directory, const std::string& below) {
  return (directory == "/" ? "" : directory) + "/" + below;
}

// `path`, which has at least two components.
RelPath without_first(const RelPath& path) {
  return RelPath::parse(path.str().substr(path.str().find('/') + 1)).value();
}

std::function<bool(const fs::Stat&)> on_other_device(std::uint64_t device) {
  return [device](const fs::Stat& stat) { return stat.device != device; };
}

// The mount point that `path` is or lies below; nothing where that is the root of all.
std::optional<std::string> mount_of(std::string path) {
  for (; path.size() > 1; path.resize(path.rfind('/'))) {
    if (is_mount_point(path)) return path;
  }
  return std::nullopt;
}

}  // namespace

// What a shell makes of "*" are many sources in one directory, which takes one descriptor.
Result<std::shared_ptr<fs::Directory>> SourceTree::shared_with_last(SourcePath& path) const {
  if (!m_roots.empty() && m_roots.back().path == path.directory) {
    NB_TRY_ASSIGN(const fs::Stat last, m_roots.back().directory->stat());
    NB_TRY_ASSIGN(const fs::Stat now, path.handle->stat());
    if (last.device == now.device && last.inode == now.inode) return m_roots.back().directory;
  }
  return std::shared_ptr<fs::Directory>(std::move(path.handle));
}

Status SourceTree::add(const std::string& source, const std::optional<std::string>& stay_within) {
  NB_TRY_ASSIGN(SourcePath path, resolve_source(source, stay_within));
  NB_TRY_ASSIGN(const auto directory, shared_with_last(path));
  if (path.name) {
    NB_TRY_ASSIGN(const fs::Stat stat, directory->stat_at(*path.name));
    m_is_single_file = stat.type != fs::FileType::directory;
  }
  m_roots.push_back({{directory, std::move(path.directory), std::move(path.name), false, nullptr}, source});
  return {};
}

SourceTree SourceTree::of(OpenedSources opened) {
  SourceTree tree;
  for (OpenedSource& source : opened.sources) tree.m_roots.push_back({std::move(source), {}});
  tree.m_problems = std::move(opened.problems);
  tree.m_trouble = std::move(opened.trouble);
  tree.m_is_single_file = opened.shape == SourceShape::single_file;
  return tree;
}

Result<SourceTree> SourceTree::open(const std::vector<std::string>& sources,
                                    const std::optional<std::string>& stay_within) {
  if (sources.empty()) return fail(Errc::protocol, "no source is named");
  if (sources.size() > k_max_origins) {
    return fail(Errc::usage, "more than " + std::to_string(k_max_origins) + " sources: name their directory");
  }
  SourceTree tree;
  for (const std::string& source : sources) {
    const Status added = tree.add(source, stay_within);
    if (added) continue;
    Error error = added.error();
    error.context = "source " + (error.sys_errno == 0 ? error.message() : source);
    if (sources.size() == 1) error.code = Errc::path;
    if (error.code == Errc::path) return tl::make_unexpected(std::move(error));
    tree.m_problems.push_back(std::move(error));
  }
  if (tree.m_roots.empty()) return tl::make_unexpected(tree.m_problems.front());
  if (sources.size() != 1) tree.m_is_single_file = false;
  return tree;
}

SourceDirectory SourceTree::root() const {
  SourceDirectory root;
  for (std::size_t i = 0; i < m_roots.size(); ++i) root.origins.push_back(static_cast<std::uint16_t>(i));
  return root;
}

bool SourceTree::implied_root() const {
  return std::all_of(m_roots.begin(), m_roots.end(), [](const Root& root) { return root.only.has_value(); });
}

void SourceTree::note_mounts(std::uint16_t origin, const RelPath& path, const scan::Listed& listed,
                             std::vector<std::string>& mounts) const {
  for (std::size_t i = 0; i < listed.entries.size(); ++i) {
    if (listed.entries[i].type != fs::FileType::directory || !listed.stats[i].mount_root) continue;
    mounts.push_back(joined(m_roots[origin].path, path.child(listed.entries[i].name).str()));
  }
}

std::vector<std::string> SourceTree::mounted_sources() const {
  std::vector<std::string> mounted;
  std::set<std::string> looked_at;  // many sources may lie in one directory
  for (const Root& root : m_roots) {
    const bool by_name = root.only && !root.is_itself;  // a symlink is none of what it leads to
    const auto stat = by_name ? root.directory->stat_at(*root.only) : root.directory->stat();
    if (stat && stat->mount_root && root.path != "/") {
      mounted.push_back(root.only ? joined(root.path, *root.only) : root.path);
      continue;
    }
    if (!looked_at.insert(root.path).second) continue;
    if (auto mount = mount_of(root.path)) mounted.push_back(*std::move(mount));
  }
  return mounted;
}

void SourceTree::read_beside(const std::string& source, const std::shared_ptr<scan::KeptAside>& kept) {
  for (Root& root : m_roots) {
    if (root.named == source) root.kept = kept;
  }
}

Result<fs::Directory*> SourceTree::at(std::uint16_t origin, const RelPath& path) {
  const Root& root = m_roots[origin];
  if (path.is_root() || (root.is_itself && path.depth() == 1)) return root.directory.get();
  if (m_cached && m_cached_origin == origin && m_cached_path == path) return m_cached.get();
  NB_TRY_ASSIGN(m_cached, root.directory->open_directory_path(root.is_itself ? without_first(path) : path));
  m_cached_origin = origin;
  m_cached_path = path;
  return m_cached.get();
}

bool SourceTree::begins_at(std::uint16_t origin, const RelPath& path) const {
  const auto& only = m_roots[origin].only;
  return only ? path.depth() == 1 && path.name() == *only : path.is_root();
}

// The name that was asked for, unless the rules leave it out, as with rsync; nothing if it is not there.
Result<std::optional<scan::Listed>> SourceTree::list_one(Root& root, scan::Lister& lister,
                                                         const scan::Lister::Hides& hides) {
  const auto there = root.is_itself ? root.directory->stat() : root.directory->stat_at(*root.only);
  if (there) {
    const fs::NamedType name{*root.only, there->type};
    if (lister.excludes(RelPath(), name) || hides(name)) return scan::Listed();
  }
  if (!root.is_itself) return lister.read_one(*root.directory, RelPath(), *root.only, root.kept.get());
  scan::Listed listed;
  wire::Entry entry;
  entry.name = *root.only;
  entry.type = fs::FileType::directory;
  listed.entries.push_back(std::move(entry));
  NB_TRY_ASSIGN(const fs::Stat stat, root.directory->stat());
  listed.stats.push_back(stat);
  return listed;
}

// The root's listing: the named entries of some sources, the whole content of others.
Result<SourceListing> SourceTree::list_root(scan::Lister& lister) {
  Merger merger;
  const auto hides = [&merger](const fs::NamedType& name) { return merger.hides(name); };
  std::vector<std::string> mounts;
  bool any_empty = false;
  for (std::size_t i = 0; i < m_roots.size(); ++i) {
    Root& root = m_roots[i];
    const auto origin = static_cast<std::uint16_t>(i);
    if (!root.only) {
      NB_TRY_ASSIGN(scan::Listed listed, lister.read(*root.directory, RelPath(), root.kept.get(), hides));
      note_mounts(origin, RelPath(), listed, mounts);
      const auto is_foreign = on_other_device(listed.device);
      any_empty |= merger.add(origin, std::move(listed), is_foreign) == Shows::nothing;
      continue;
    }
    NB_TRY_ASSIGN(auto listed, list_one(root, lister, hides));
    if (!listed) listed.emplace().vanished.push_back(*root.only);
    if (listed->partial) merger.expect(*root.only);
    // What is named is meant, mounted or not.
    static_cast<void>(merger.add(origin, std::move(*listed), [](const fs::Stat&) { return false; }));
  }
  SourceListing merged = merger.finish();
  merged.empty_source = any_empty;
  merged.mounts = std::move(mounts);
  return merged;
}

Result<SourceListing> SourceTree::list(const SourceDirectory& directory, scan::Lister& lister) {
  if (directory.path.is_root()) return list_root(lister);
  if (m_roots.size() == 1) return list_alone(directory, lister);
  Merger merger;
  const auto hides = [&merger](const fs::NamedType& name) { return merger.hides(name); };
  std::vector<std::string> mounts;
  std::optional<Error> miss;
  bool any_listed = false;
  bool any_empty = false;
  for (const std::uint16_t origin : directory.origins) {
    auto listed = list_of(origin, directory.path, lister, hides);
    if (!listed) {
      miss = missed(std::move(listed).error(), directory.path.str() + "/ in " + m_roots[origin].path);
      merger.miss(*miss);
      if (miss->code == Errc::vanished) continue;
      break;
    }
    any_listed = true;
    note_mounts(origin, directory.path, *listed, mounts);
    const auto is_foreign = on_other_device(listed->device);
    const Shows shows = merger.add(origin, std::move(*listed), is_foreign);
    any_empty |= shows == Shows::nothing && begins_at(origin, directory.path);
  }
  if (!any_listed) return tl::make_unexpected(*std::move(miss));
  SourceListing merged = merger.finish();
  merged.empty_source = any_empty;
  merged.mounts = std::move(mounts);
  return merged;
}

Result<scan::Listed> SourceTree::list_of(std::uint16_t origin, const RelPath& path, scan::Lister& lister,
                                         const scan::Lister::Hides& hides) {
  NB_TRY_ASSIGN(fs::Directory * handle, at(origin, path));
  return lister.read(*handle, path, beside(origin), hides);
}

Result<SourceListing> SourceTree::list_alone(const SourceDirectory& directory, scan::Lister& lister) {
  const std::uint16_t origin = directory.origins.front();
  SourceListing out;
  auto listed = list_of(origin, directory.path, lister, {});
  if (!listed) return tl::make_unexpected(missed(std::move(listed).error(), directory.path.str() + "/"));
  out.listed = *std::move(listed);
  out.empty_source = out.listed.entries.empty() && begins_at(origin, directory.path);
  note_mounts(origin, directory.path, out.listed, out.mounts);
  return out;
}

Result<fs::Metadata> SourceTree::metadata_of(const SourceDirectory& directory, scan::MetadataView view) {
  const std::uint16_t origin = directory.origins.front();
  const std::string& shown = directory.path.str();
  // The parent of such a source is none of ours.
  if (m_roots[origin].is_itself && directory.path.depth() == 1) return fail(Errc::unreadable, shown);
  NB_TRY_ASSIGN(const fs::Directory* const parent, at(origin, directory.path.parent()));
  const std::string name(directory.path.name());
  NB_TRY_ASSIGN(const fs::Stat stat, parent->stat_at(name));
  if (stat.type != fs::FileType::directory) return fail(Errc::changed, shown);
  NB_TRY_ASSIGN(fs::Xattrs xattrs, parent->xattrs_at(name));
  xattrs = scan::with_aside(std::move(xattrs), beside(origin), directory.path, stat.type);
  fs::Metadata meta = scan::meant_under(view, stat, std::move(xattrs)).meta;
  NB_TRY(scan::limit_attributes(meta));
  return meta;
}

Result<std::unique_ptr<fs::File>> SourceTree::open_file(const RelPath& directory, std::uint16_t origin,
                                                        std::string_view name) {
  NB_TRY_ASSIGN(fs::Directory * handle, at(origin, directory));
  return handle->open_file(name, fs::OpenMode::read);
}

}  // namespace nb::session
