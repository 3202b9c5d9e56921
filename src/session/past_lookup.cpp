// SPDX-License-Identifier: Apache-2.0
#include "session/past_lookup.hpp"

#include "base/text.hpp"
#include "session/name_pattern.hpp"

namespace nb::session {
namespace {

class LookUp {
 public:
  explicit LookUp(const RelPath& path) : m_path(path) {
    for (const std::string_view name : split(path.str(), '/')) m_names.emplace_back(name);
  }

  Result<PastEntries> run(const std::shared_ptr<fs::Directory>& root) {
    NB_TRY(enter({root, RelPath()}, 0));
    if (!m_out.entries.empty()) return std::move(m_out);
    if (m_not_directory) return fail(Errc::path, *m_not_directory);
    return fail(Errc::not_found, m_path.str());
  }

 private:
  struct Place {
    std::shared_ptr<fs::Directory> directory;
    RelPath path;
  };

  // Finds the name number `index`, and what follows, in `place`.
  Status enter(const Place& place, std::size_t index) {
    const std::string& name = m_names[index];
    const auto stat = place.directory->stat_at(name);
    if (stat) return take(place, name, stat->type, index);
    if (stat.error().code != Errc::not_found) return tl::make_unexpected(stat.error());
    if (!NamePattern::is_pattern(name)) return {};
    m_out.by_pattern = true;
    const NamePattern pattern(name);
    NB_TRY_ASSIGN(const std::vector<fs::NamedType> names, place.directory->list());
    for (const fs::NamedType& entry : names) {
      if (is_reserved_name(entry.name) || !pattern.matches(entry.name)) continue;
      NB_TRY(take(place, entry.name, entry.type, index));
    }
    return {};
  }

  Status take(const Place& place, const std::string& name, fs::FileType type, std::size_t index) {
    if (index + 1 == m_names.size()) {
      if (m_out.entries.size() == k_max_matches) {
        return fail(Errc::path, m_path.str() + " matches more than " + std::to_string(k_max_matches) +
                                    " entries: name their directory");
      }
      m_out.entries.push_back({place.directory, place.path, name, type});
      return {};
    }
    if (type != fs::FileType::directory) {
      const bool link = type == fs::FileType::symlink;
      m_not_directory = place.path.child(name).str() +
                        (link ? " is a symlink there, and none on the way is followed" : " is no directory there");
      return {};
    }
    NB_TRY_ASSIGN(std::shared_ptr<fs::Directory> below, place.directory->open_directory(name));
    return enter({std::move(below), place.path.child(name)}, index + 1);
  }

  const RelPath& m_path;
  std::vector<std::string> m_names;
  PastEntries m_out;
  std::optional<std::string> m_not_directory;  // why a way did not lead on
};

}  // namespace

Result<PastEntries> look_up(const std::shared_ptr<fs::Directory>& root, const RelPath& path) {
  return LookUp(path).run(root);
}

}  // namespace nb::session
