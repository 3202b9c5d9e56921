// SPDX-License-Identifier: Apache-2.0
// PathRoot: where path strings from a user or a peer lead. Confined to a directory (serve --root), everything that it
// opens lies beneath that directory at the moment of opening: symlinks on the way are followed as long as they are
// relative and stay inside, magic links never. Unconfined it opens what every tool would. It gives out held
// directories, so that whoever goes on from one of them does not depend on where the names on the way lead later.
//
// Beside open_user_directory this is the only place that takes path strings from outside, and the only one that goes up
// from a directory to its parent.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/fd.hpp"
#include "fs/directory.hpp"

namespace nb::fs {

class PathRoot {
 public:
  // `confined_to` is the path of a directory, which nobody who is confined can move; none: anywhere.
  static Result<PathRoot> open(const std::optional<std::string>& confined_to);

  // What `path` leads to. A relative one starts at the confining directory, or where this process runs; an absolute one
  // may reach the confining directory by any name of it. Errc::path if it leads outside.
  [[nodiscard]] Result<Stat> stat(const std::string& path) const;
  [[nodiscard]] Result<std::unique_ptr<Directory>> open_directory(const std::string& path) const;
  // The directory `name` in `parent`, made if it is missing with the mode that the umask leaves.
  static Result<std::unique_ptr<Directory>> make_directory(const Directory& parent, std::string_view name);
  // The directory above; null for the confining directory and for "/".
  [[nodiscard]] Result<std::unique_ptr<Directory>> parent_of(const Directory& directory) const;
  // Whether `path`, which is absolute, leads to the confining directory itself.
  [[nodiscard]] bool is_top(const std::string& path) const;
  [[nodiscard]] const std::string& top_path() const { return m_top_path; }  // real; empty if unconfined

 private:
  PathRoot() = default;
  [[nodiscard]] Result<Fd> open_fd(const std::string& path, int flags) const;
  [[nodiscard]] Result<std::string> below_top(const std::string& path) const;
  [[nodiscard]] Fd open_beneath(const std::string& below, int flags) const;
  [[nodiscard]] tl::unexpected<Error> outside(const std::string& path) const;

  Fd m_top;
  Stat m_top_stat;
  std::string m_top_path;
};

// The absolute path by which the kernel knows this directory now: for people, and for names relative to a parent, which
// are to be checked.
Result<std::string> real_path_of(const Directory& directory);

}  // namespace nb::fs
