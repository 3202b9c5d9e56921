// SPDX-License-Identifier: Apache-2.0
// Climbs on held directories, so that nothing that is renamed meanwhile can lead it astray.
#include "txn/locate.hpp"

#include <unistd.h>

#include "txn/listed_name.hpp"
#include "txn/live_tree.hpp"
#include "txn/set_files.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

Result<bool> holds_set(const fs::Directory& directory, std::optional<std::uint32_t>& passed_over) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> control, find_name(directory, k_control_name));
  if (!control || control->type != fs::FileType::directory) return false;
  if (control->owner.uid == ::geteuid()) return true;
  if (::geteuid() != 0) {
    passed_over = control->owner.uid;
    return false;
  }
  // Passing over it, root would copy the set's files without the metadata that is kept beside them; following a journal
  // that another user may have written, it would do that user's bidding.
  return fail(Errc::path,
              "the file set there belongs to user " + std::to_string(control->owner.uid) + ": run as that user");
}

// Whether `child`, a directory in `directory`, is what nbackup keeps there, by whatever name it was found.
bool is_control(const fs::Directory& directory, const fs::Stat& child) {
  for (const std::string_view name : {k_control_name, nb::k_control_new_name}) {
    const auto control = directory.stat_at(name);
    if (control && same_inode(*control, child)) return true;
  }
  return false;
}

// The position in `path` before its last `count` components; 0 if it has fewer.
std::size_t cut_components(std::string_view path, std::size_t count) {
  std::size_t end = path.size();
  for (; count > 0; --count) {
    const std::size_t slash = path.substr(0, end).rfind('/');
    if (slash == std::string_view::npos) return 0;
    end = slash;
  }
  return end;
}

// The set whose root is `climbed` levels above the directory that `path` names.
Result<Located> found_above(std::unique_ptr<fs::Directory> root, const std::string& path, std::size_t climbed,
                            const fs::Stat& asked) {
  const std::size_t cut = cut_components(path, climbed);
  Located found;
  found.is_set = true;
  found.root_path = cut == 0 ? "/" : path.substr(0, cut);
  if (climbed > 0) {
    NB_TRY_ASSIGN(found.below, RelPath::parse(std::string_view(path).substr(cut + 1)));
    if (has_reserved_name(found.below.str())) return fail(Errc::path, "inside the control directory of a file set");
    // The names come from the path as it was; the directory must be the one that is held.
    NB_TRY_ASSIGN(const auto again, root->open_directory_path(found.below));
    NB_TRY_ASSIGN(const fs::Stat there, again->stat());
    if (!same_inode(there, asked)) return fail(Errc::changed, path + " was moved");
    found.below = as_listed(*root, found.below);
  }
  found.root = std::move(root);
  return found;
}

}  // namespace

bool is_set(const fs::Directory& tree, const RelPath& path) {
  const auto control = tree.open_directory_path(path.child(k_control_name));
  if (!control) return !is_not_there(control.error().code);
  return (*control)->stat_at(k_format_name).has_value();
}

Result<Located> locate_set(const fs::PathRoot& bounds, std::unique_ptr<fs::Directory> directory) {
  NB_TRY_ASSIGN(const std::string path, fs::real_path_of(*directory));
  NB_TRY_ASSIGN(const fs::Stat asked, directory->stat());
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> at, directory->reopen());
  std::optional<fs::Stat> below;
  std::optional<std::uint32_t> passed_over;
  for (std::size_t climbed = 0; at != nullptr; ++climbed) {
    NB_TRY_ASSIGN(const fs::Stat stat, at->stat());
    if (!fs::same_mount(stat, asked)) break;
    if (below && is_control(*at, *below))
      return fail(Errc::path, path + ": inside the control directory of a file set");
    below = stat;
    const Result<bool> found = holds_set(*at, passed_over);
    if (!found && found.error().code == Errc::path) return fail(Errc::path, path + ": " + found.error().context);
    // Where this user may not look there is nothing for this user; a disk that fails tells nothing.
    if (!found && found.error().code != Errc::not_permitted) return wrap(found.error(), path);
    if (found && *found) return found_above(std::move(at), path, climbed, asked);
    if (stat.mount_root) break;
    Result<std::unique_ptr<fs::Directory>> up = bounds.parent_of(*at);
    // A parent that cannot be opened ends the walk; nothing above it could be used either.
    if (!up) break;
    at = std::move(*up);
  }
  return Located{path, std::move(directory), RelPath(), false, passed_over};
}

Result<Located> locate_set(const std::string& path, const std::optional<std::string>& stop_at) {
  NB_TRY_ASSIGN(const fs::PathRoot bounds, fs::PathRoot::open(stop_at));
  NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> directory, bounds.open_directory(path));
  return locate_set(bounds, std::move(directory));
}

}  // namespace nb::txn
