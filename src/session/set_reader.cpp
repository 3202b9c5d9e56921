// SPDX-License-Identifier: Apache-2.0
#include "session/set_reader.hpp"

#include "session/moment.hpp"
#include "session/set_path.hpp"
#include "txn/past_tree.hpp"

namespace nb::session {
namespace {

scan::ListerOptions lister_options() {
  scan::ListerOptions options;
  options.view = scan::MetadataView::kept;
  return options;
}

tl::unexpected<Error> not_there(const RelPath& path, std::uint64_t generation) {
  return fail(Errc::not_found, path.str() + ": not in generation " + std::to_string(generation));
}

}  // namespace

Result<std::uint64_t> SetReader::generation(const wire::Moment& at) const { return generation_at(set(), history, at); }

Result<SetReader> open_set(const std::string& place, const std::optional<std::string>& stay_within,
                           const std::string& client, Clock& clock) {
  NB_TRY_ASSIGN(const fs::PathRoot bounds, fs::PathRoot::open(stay_within));
  NB_TRY_ASSIGN(SetPath found, find_in_set(bounds, place));
  HeldSets held;
  NB_TRY_ASSIGN(txn::FileSet * set, held.hold(std::move(found.root), {client, stay_within}, clock));
  NB_TRY_ASSIGN(txn::History history, txn::History::open(*set));
  return SetReader{std::move(held), std::move(history), std::move(found.root_path), std::move(found.inside)};
}

Result<UnlockedSet> open_set_unlocked(const std::string& place, const std::optional<std::string>& stay_within,
                                      const std::string& client, Clock& clock) {
  NB_TRY_ASSIGN(const fs::PathRoot bounds, fs::PathRoot::open(stay_within));
  NB_TRY_ASSIGN(SetPath found, find_in_set(bounds, place));
  NB_TRY_ASSIGN(auto set, txn::FileSet::open(std::move(found.root)));
  NB_TRY(finish_interrupted(*set, client, clock));
  NB_TRY(set->reload());
  return UnlockedSet{std::move(set), std::move(found.root_path), std::move(found.inside)};
}

SetView::SetView(std::unique_ptr<fs::Directory> root, std::uint64_t generation)
    : m_root(std::move(root)),
      m_generation(generation),
      m_lister(lister_options()),
      m_trouble(std::make_shared<std::vector<Error>>()) {}

Result<SetView> SetView::open(SetReader& reader, std::uint64_t generation) {
  NB_TRY_ASSIGN(auto root, txn::open_past(reader.set(), generation));
  SetView view(std::move(root), generation);
  if (generation == reader.set().head().generation) {
    const auto trouble = [told = view.m_trouble](Error error) { told->push_back(std::move(error)); };
    view.m_beside = std::make_shared<KeptBeside>(reader.set(), KeptBeside::Place{}, KeptBeside::Use::read, trouble);
  }
  return view;
}

Result<std::unique_ptr<fs::Directory>> SetView::open_directory(const RelPath& path) {
  if (path.is_root()) return m_root->reopen();
  auto directory = m_root->open_directory_path(path);
  if (directory) return directory;
  if (directory.error().code == Errc::not_found) return not_there(path, m_generation);
  // The kernel's words for a file or a symlink where a directory was to be.
  if (directory.error().code == Errc::path) {
    return fail(Errc::path, path.str() + ": no directory in generation " + std::to_string(m_generation) +
                                ", and no symlink is followed");
  }
  return directory;
}

Result<scan::Listed> SetView::list(fs::Directory& directory, const RelPath& path) {
  NB_TRY_ASSIGN(scan::Listed listed, m_lister.read(directory, path, m_beside.get()));
  for (Error& error : *m_trouble) listed.problems.push_back(std::move(error));
  m_trouble->clear();
  return listed;
}

Result<fs::Metadata> SetView::own_metadata(fs::Directory& directory, const RelPath& path) {
  NB_TRY_ASSIGN(const fs::Stat stat, directory.stat());
  NB_TRY_ASSIGN(fs::Xattrs xattrs, directory.xattrs());
  xattrs = scan::with_aside(std::move(xattrs), m_beside.get(), path, stat.type);
  return scan::meant_under(scan::MetadataView::kept, stat, std::move(xattrs)).meta;
}

Result<scan::Listed> SetView::look_at(const RelPath& path) {
  const auto parent = open_directory(path.parent());
  if (!parent && parent.error().code == Errc::not_found) return not_there(path, m_generation);
  NB_TRY(parent);
  NB_TRY_ASSIGN(auto listed, m_lister.read_one(**parent, path.parent(), path.name(), m_beside.get()));
  if (!listed) return not_there(path, m_generation);
  if (listed->entries.empty()) return tl::make_unexpected(listed->problems.front());
  return std::move(*listed);
}

Result<std::unique_ptr<fs::File>> SetView::open_file(const RelPath& path) {
  NB_TRY_ASSIGN(const auto parent, open_directory(path.parent()));
  return parent->open_file(path.name(), fs::OpenMode::read);
}

}  // namespace nb::session
