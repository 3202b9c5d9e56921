// SPDX-License-Identifier: Apache-2.0
#include "session/past_source.hpp"

#include <map>

#include "session/kept_beside.hpp"
#include "session/moment.hpp"
#include "session/past_lookup.hpp"
#include "session/set_path.hpp"
#include "session/user_path.hpp"
#include "txn/past_tree.hpp"

namespace nb::session {
namespace {

// Looks up the sources in one generation's tree.
class PastSources {
 public:
  PastSources(txn::FileSet& set, std::string root_path, std::uint64_t generation)
      : m_set(set), m_root_path(std::move(root_path)), m_generation(generation) {}

  Status open_root() {
    if (is_live()) {
      NB_TRY_ASSIGN(m_root, m_set.root().reopen());
    } else {
      NB_TRY_ASSIGN(m_root, txn::open_past(m_set, m_generation));
    }
    return {};
  }

  // An error that concerns one file is that of this source alone.
  Status add(const std::string& source, const RelPath& inside) {
    const std::string shown = "source " + shown_source(source);
    if (m_opened.sources.size() > k_max_origins - k_max_matches) {
      return fail(Errc::path, shown + ": more entries are named than one run can take");
    }
    const std::optional<std::string> name = entry_named_by(source);
    if (inside.is_root()) return name ? add_root_by_name(*name) : add_content(m_root, {});
    auto found = look_up(m_root, inside);
    if (!found) return wrap(std::move(found).error(), shown + " at generation " + number());
    if (found->entries.size() == 1 && !found->by_pattern) m_last_is_file = is_file(found->entries.front());
    const bool skips_files = found->by_pattern && !name;
    if (skips_files) std::erase_if(found->entries, is_file);
    if (found->entries.empty()) return fail(Errc::not_found, shown + ": no directory has such a name");
    for (PastEntry& entry : found->entries) NB_TRY(name ? add_entry(std::move(entry)) : add_content_of(entry, shown));
    return {};
  }

  void miss(Error error) { m_opened.problems.push_back(std::move(error)); }

  // After all sources were added, or missed.
  Result<SourceTree> finish(std::size_t asked_for) {
    if (m_opened.sources.empty()) {
      Error error = m_opened.problems.front();
      if (error.code == Errc::not_found) error = {Errc::path, 0, error.context + " is not there"};
      return tl::make_unexpected(std::move(error));
    }
    if (!is_live() && KeptBeside::is_used_by(m_set)) tell_of_losses();
    if (asked_for == 1 && m_last_is_file) m_opened.shape = SourceShape::single_file;
    return SourceTree::of(std::move(m_opened));
  }

 private:
  [[nodiscard]] bool is_live() const { return m_generation == m_set.head().generation; }
  [[nodiscard]] std::string number() const { return std::to_string(m_generation); }
  static bool is_file(const PastEntry& entry) { return entry.type != fs::FileType::directory; }

  // What is kept beside the tree is that of the live one.
  void tell_of_losses() {
    m_opened.problems.push_back({Errc::metadata_lost, 0,
                                 "generation " + number() + ": owners, modes, links and attributes that the file " +
                                     "system at " + m_root_path + " cannot hold are kept for the live one only"});
  }

  [[nodiscard]] std::string absolute(const RelPath& path) const {
    if (path.is_root()) return m_root_path;
    return (m_root_path == "/" ? "" : m_root_path) + "/" + path.str();
  }

  // Entries of one directory share what is kept for them.
  std::shared_ptr<scan::KeptAside> beside(const KeptBeside::Place& place) {
    if (!is_live()) return nullptr;
    auto& known = m_beside[{place.base, place.above}];
    const auto tell = [trouble = m_opened.trouble](Error error) { trouble->push_back(std::move(error)); };
    if (!known) known = std::make_shared<KeptBeside>(m_set, place, KeptBeside::Use::read, tell);
    return known;
  }

  Status add_root_by_name(const std::string& name) {
    if (!is_safe_name(name)) return fail(Errc::path, "source " + name + ": name not usable");
    const std::size_t slash = m_root_path.rfind('/');
    const std::string above = slash == 0 ? "/" : m_root_path.substr(0, slash);
    m_opened.sources.push_back({m_root, above, name, true, beside({{}, RelPath().child(name)})});
    return {};
  }

  Status add_content(std::shared_ptr<fs::Directory> directory, const RelPath& path) {
    m_opened.sources.push_back({std::move(directory), absolute(path), std::nullopt, false, beside({path, {}})});
    return {};
  }

  Status add_content_of(const PastEntry& entry, const std::string& shown) {
    if (is_file(entry)) return fail(Errc::path, shown + ": " + entry.name + " is not a directory");
    NB_TRY_ASSIGN(std::shared_ptr<fs::Directory> directory, entry.directory->open_directory(entry.name));
    return add_content(std::move(directory), entry.directory_path.child(entry.name));
  }

  Status add_entry(PastEntry entry) {
    auto kept = beside({entry.directory_path, {}});
    m_opened.sources.push_back(
        {std::move(entry.directory), absolute(entry.directory_path), std::move(entry.name), false, std::move(kept)});
    return {};
  }

  txn::FileSet& m_set;
  const std::string m_root_path;
  const std::uint64_t m_generation;
  std::shared_ptr<fs::Directory> m_root;
  OpenedSources m_opened;
  bool m_last_is_file = false;  // the last source is one entry, no directory, by its name
  std::map<std::pair<RelPath, RelPath>, std::shared_ptr<scan::KeptAside>> m_beside;
};

Result<std::vector<SetPath>> find_all(const std::vector<std::string>& sources,
                                      const std::optional<std::string>& stay_within) {
  NB_TRY_ASSIGN(const fs::PathRoot bounds, fs::PathRoot::open(stay_within));
  std::vector<SetPath> paths;
  for (const std::string& source : sources) {
    NB_TRY_ASSIGN(SetPath path, find_source_in_set(bounds, source));
    paths.push_back(std::move(path));
  }
  return paths;
}

}  // namespace

Result<SourceSetup> set_up_past_source(const std::vector<std::string>& sources, const wire::Moment& at,
                                       const SourceReader& reader, Clock& clock) {
  if (sources.empty()) return fail(Errc::protocol, "no source is named");
  NB_TRY_ASSIGN(std::vector<SetPath> paths, find_all(sources, reader.stay_within));
  HeldSets held;
  for (SetPath& path : paths) NB_TRY(held.hold(std::move(path.root), reader, clock));
  if (held.sets.size() > 1) return fail(Errc::path, "the sources lie in several file sets: take one after the other");
  txn::FileSet& set = *held.sets.front();
  NB_TRY_ASSIGN(const txn::History history, txn::History::open(set));
  NB_TRY_ASSIGN(const std::uint64_t generation, generation_at(set, history, at));
  if (generation != set.head().generation) held.damage.look_at_the_past();
  PastSources past(set, paths.front().root_path, generation);
  NB_TRY(past.open_root());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    Status added = past.add(sources[i], paths[i].inside);
    if (added) continue;
    if (info(added.error().code).cls != ErrorClass::per_file) return tl::make_unexpected(std::move(added).error());
    past.miss(std::move(added).error());
  }
  NB_TRY_ASSIGN(SourceTree tree, past.finish(sources.size()));
  return SourceSetup{std::move(held), scan::MetadataView::kept, generation, std::move(tree)};
}

}  // namespace nb::session
