// SPDX-License-Identifier: Apache-2.0
// Path strings as users write them, resolved on the machine they name, with rsync's rules for trailing slashes.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "fs/directory.hpp"
#include "txn/locate.hpp"

namespace nb::session {

struct SourcePath {
  std::unique_ptr<fs::Directory> handle;  // what was found: go on from here, not from the path
  std::string directory;                  // absolute and real, for messages
  std::optional<std::string> name;        // one entry of it; none: the directory's whole content
};

// `dir/`, `.`, `..`, `dir/.` and `/` mean content; everything else the last component as an entry of its directory.
// With `stay_within` (a directory) a relative path starts there, and one that leads outside is Errc::path, as is one
// that names what nbackup keeps beside a file set, in whatever case.
Result<SourcePath> resolve_source(const std::string& source, const std::optional<std::string>& stay_within);

// The entry that such a source is about, as written; nothing where it means content.
std::optional<std::string> entry_named_by(const std::string& source);

// Errc::path if a component of `path` is a name that only nbackup uses, in whatever case.
Status refuse_reserved(const std::string& path);

struct TargetPath {
  std::unique_ptr<fs::Directory> handle;  // the directory, or its parent where it is missing: go on from here, not
                                          // from the path
  std::string directory;                  // absolute and real, as far as it exists; for messages
  std::optional<std::string> missing;     // its name in `handle`, where it has yet to be made
  std::optional<std::string> new_name;    // a single file takes this name
};

enum class SourceShape : std::uint8_t { tree, single_file };

// Where a run writes to; makes nothing. An existing directory is itself; a missing one is to be made (its parent must
// exist), unless a single file is written to a missing name without trailing slash: that gives the file its name, as
// does an existing file. A device, FIFO or socket of that name, or behind a symlink of it, is refused.
Result<TargetPath> resolve_target(const std::string& destination, SourceShape shape,
                                  const std::optional<std::string>& stay_within);

// The file set that the target lies in, and where in it, `missing` included. Where there is none, `root` is the
// target's handle and `root_path` its directory.
Result<txn::Located> locate_target(TargetPath target, const std::optional<std::string>& stay_within);

}  // namespace nb::session
