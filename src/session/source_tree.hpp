// SPDX-License-Identifier: Apache-2.0
// SourceTree: the sources of one run as a single tree, with rsync's rules: `dir` becomes the entry dir of the
// destination, `dir/` (and `.`) its content. Several sources that meet under one name are merged, the first winning
// where they disagree. Reads directories and opens files; used by Source from one thread.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fs/directory.hpp"
#include "scan/lister.hpp"
#include "session/user_path.hpp"

namespace nb::session {

// Which of the sources a directory or file comes from: indexes into the tree's roots, rising.
using Origins = std::vector<std::uint16_t>;

// A directory still to be read.
struct SourceDirectory {
  RelPath path;  // below the transfer's root
  Origins origins;
  bool is_foreign = false;          // on another file system than its parent
  bool has_gaps = false;            // one of several sources could not tell what it has here
  fs::Stat stat;                    // as its parent saw it; of no meaning for the root
  std::uint64_t parent_device = 0;  // 0: that is not one directory
};

struct SourceListing {
  scan::Listed listed;              // merged
  bool empty_source = false;        // one of the sources begins here and has nothing
  std::vector<Origins> origins;     // of each entry; empty where the tree has one source: all from that
  std::vector<Origins> foreign;     // of each directory, beside origins: those that have another file system there
  std::set<std::string> gaps;       // names in it that one of several sources could not tell of
  std::vector<std::string> mounts;  // absolute paths of the directories in it that are mount points, in any source
  [[nodiscard]] Origins origin(std::size_t index) const { return origins.empty() ? Origins{0} : origins[index]; }
};

// A source that was opened by others, as a state of a file set is.
struct OpenedSource {
  std::shared_ptr<fs::Directory> directory;
  std::string path;                       // absolute, for messages: the directory's, or with `is_itself` its parent's
  std::optional<std::string> only;        // the one name in it that is meant; none: its content
  bool is_itself = false;                 // `only` is the name under which the directory itself is to appear
  std::shared_ptr<scan::KeptAside> kept;  // beside the tree; may be null
};

struct OpenedSources {
  std::vector<OpenedSource> sources;      // at least one
  std::vector<Error> problems;            // what could not be opened
  SourceShape shape = SourceShape::tree;  // single_file: the only source is one, and no directory
  // Where trouble that shows while they are read is noted.
  std::shared_ptr<std::vector<Error>> trouble = std::make_shared<std::vector<Error>>();
};

// How many sources a run can have: origins are numbers of 16 bits.
inline constexpr std::size_t k_max_origins = 0xFFFF;

class SourceTree {
 public:
  // Opens the sources, given as the user wrote them. One that is missing becomes a problem; Errc::not_found if all are.
  // `stay_within` (an absolute real path) refuses everything outside it with Errc::path.
  static Result<SourceTree> open(const std::vector<std::string>& sources,
                                 const std::optional<std::string>& stay_within);

  static SourceTree of(OpenedSources opened);

  [[nodiscard]] SourceDirectory root() const;
  [[nodiscard]] bool implied_root() const;  // no source gives the root its content
  [[nodiscard]] bool is_single_file() const { return m_is_single_file; }
  [[nodiscard]] const std::vector<Error>& problems() const { return m_problems; }
  // The mount points that sources are or lie below, but for the root of all.
  [[nodiscard]] std::vector<std::string> mounted_sources() const;

  // The source, as the user wrote it, lies in a file set that keeps this beside its tree.
  void read_beside(const std::string& source, const std::shared_ptr<scan::KeptAside>& kept);
  [[nodiscard]] scan::KeptAside* beside(std::uint16_t origin) const { return m_roots[origin].kept.get(); }
  // Where trouble that shows while the tree is read is noted; told at the end.
  [[nodiscard]] const std::shared_ptr<std::vector<Error>>& trouble() const { return m_trouble; }

  // Of an origin that cannot be read nothing is known, and what later ones have there may be hidden by it: the listing
  // ends before it and is partial. An error (unreadable, vanished) if that leaves nothing.
  Result<SourceListing> list(const SourceDirectory& directory, scan::Lister& lister);
  // What the parent of a directory that could not be listed shows of it.
  Result<fs::Metadata> metadata_of(const SourceDirectory& directory, scan::MetadataView view);
  // The file `name` of `directory` from the first of `origins`.
  Result<std::unique_ptr<fs::File>> open_file(const RelPath& directory, std::uint16_t origin, std::string_view name);

 private:
  struct Root : OpenedSource {
    std::string named;  // as the user wrote it
  };
  SourceTree() = default;
  Status add(const std::string& source, const std::optional<std::string>& stay_within);
  Result<fs::Directory*> at(std::uint16_t origin, const RelPath& path);
  // Adds what `listed`, one origin's directory at `path`, has of mount points.
  void note_mounts(std::uint16_t origin, const RelPath& path, const scan::Listed& listed,
                   std::vector<std::string>& mounts) const;
  // Whether that source is this very directory.
  [[nodiscard]] bool begins_at(std::uint16_t origin, const RelPath& path) const;
  Result<std::shared_ptr<fs::Directory>> shared_with_last(SourcePath& path) const;
  Result<SourceListing> list_root(scan::Lister& lister);
  static Result<std::optional<scan::Listed>> list_one(Root& root, scan::Lister& lister,
                                                      const scan::Lister::Hides& hides);
  // One origin's directory.
  Result<scan::Listed> list_of(std::uint16_t origin, const RelPath& path, scan::Lister& lister,
                               const scan::Lister::Hides& hides);
  // Of the only source.
  Result<SourceListing> list_alone(const SourceDirectory& directory, scan::Lister& lister);

  std::vector<Root> m_roots;
  bool m_is_single_file = false;
  std::vector<Error> m_problems;
  std::shared_ptr<std::vector<Error>> m_trouble = std::make_shared<std::vector<Error>>();
  // The directory opened last: listings and files come in runs from one directory.
  std::unique_ptr<fs::Directory> m_cached;
  std::uint16_t m_cached_origin = 0;
  RelPath m_cached_path;
};

}  // namespace nb::session
