// SPDX-License-Identifier: Apache-2.0
// SetReader: a file set held still for somebody who looks at it and at its earlier generations: a commit that was
// interrupted is finished, and later ones wait. SetView: one of these trees, as its files are meant.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "scan/lister.hpp"
#include "session/kept_beside.hpp"
#include "session/source_setup.hpp"
#include "txn/history.hpp"
#include "wire/messages.hpp"

namespace nb::session {

struct SetReader {
  HeldSets held;  // this one
  txn::History history;
  std::string root_path;  // absolute and real
  RelPath below;          // the place asked for, seen from the set's root; need not be there now

  [[nodiscard]] txn::FileSet& set() const { return *held.sets.front(); }
  // The generation that `at` means; Errc::usage if it is not kept.
  [[nodiscard]] Result<std::uint64_t> generation(const wire::Moment& at) const;
};

// `place` is a path string of this machine, kept inside `stay_within`: a set's root or a path into it, as find_in_set()
// takes it (set_path.hpp). Errc::path if it lies in no set; one whose root lies above `stay_within` does not count.
Result<SetReader> open_set(const std::string& place, const std::optional<std::string>& stay_within,
                           const std::string& client, Clock& clock);

// The same set without a lock: what was interrupted in it is finished, and others may go on reading and writing.
struct UnlockedSet {
  std::unique_ptr<txn::FileSet> set;
  std::string root_path;
  RelPath below;
};
Result<UnlockedSet> open_set_unlocked(const std::string& place, const std::optional<std::string>& stay_within,
                                      const std::string& client, Clock& clock);

class SetView {
 public:
  // The tree of a generation that is kept, or the live one's. `reader` outlives it.
  static Result<SetView> open(SetReader& reader, std::uint64_t generation);

  [[nodiscard]] std::uint64_t generation() const { return m_generation; }
  [[nodiscard]] fs::Directory& root() { return *m_root; }
  // Paths are below the set's root. `list`: a directory with its own metadata.
  Result<std::unique_ptr<fs::Directory>> open_directory(const RelPath& path);
  Result<scan::Listed> list(fs::Directory& directory, const RelPath& path);
  Result<fs::Metadata> own_metadata(fs::Directory& directory, const RelPath& path);
  // One name, not the root: Errc::not_found if it is not there.
  Result<scan::Listed> look_at(const RelPath& path);
  Result<std::unique_ptr<fs::File>> open_file(const RelPath& path);

 private:
  SetView(std::unique_ptr<fs::Directory> root, std::uint64_t generation);
  std::unique_ptr<fs::Directory> m_root;
  std::uint64_t m_generation;
  scan::Lister m_lister;
  std::shared_ptr<KeptBeside> m_beside;           // of the live tree; it says nothing of earlier ones
  std::shared_ptr<std::vector<Error>> m_trouble;  // with it; told with the next listing
};

}  // namespace nb::session
