// SPDX-License-Identifier: Apache-2.0
// The one part of txn/ that deals in absolute paths: a Directory cannot reach its parent.
#include "txn/locate.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/text.hpp"
#include "fs/posix_directory.hpp"
#include "txn/small_file.hpp"

namespace nb::txn {
namespace {

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (!real) return fail_errno("find " + escape(path));
  return std::string(real.get());
}

bool is_within(const std::string& path, const std::string& top) {
  return top == "/" || path == top || (path.starts_with(top) && path[top.size()] == '/');
}

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<RelPath> path_below(const std::string& path, const std::string& top) {
  if (path == top) return RelPath();
  return RelPath::parse(std::string_view(path).substr(top == "/" ? 1 : top.size() + 1));
}

Result<bool> holds_set(const fs::Directory& directory) {
  NB_TRY_ASSIGN(const std::optional<fs::Stat> control, find_name(directory, k_control_name));
  return control && control->type == fs::FileType::directory && control->owner.uid == ::geteuid();
}

Status check_not_inside(const RelPath& below) {
  if (below.is_root()) return {};
  for (const std::string_view name : split(below.str(), '/')) {
    if (name == k_control_name) return fail(Errc::path, "inside the control directory of a file set");
  }
  return {};
}

}  // namespace

Result<Located> locate_set(const std::string& path, const std::optional<std::string>& stop_at) {
  NB_TRY_ASSIGN(const std::string asked, real_path(path));
  if (stop_at && !is_within(asked, *stop_at)) return fail(Errc::path, escape(path) + " is outside of " + *stop_at);
  Located here;
  here.root_path = asked;
  NB_TRY_ASSIGN(here.root, fs::open_user_directory(asked));
  NB_TRY_ASSIGN(const fs::Stat asked_stat, here.root->stat());
  std::string top = asked;
  while (true) {
    const auto directory = fs::open_user_directory(top);
    // A parent that cannot be opened ends the walk; nothing above it could be used either.
    if (!directory) break;
    NB_TRY_ASSIGN(const fs::Stat stat, (*directory)->stat());
    if (stat.device != asked_stat.device) break;
    const Result<bool> found = holds_set(**directory);
    if (found && *found) {
      NB_TRY_ASSIGN(RelPath below, path_below(asked, top));
      NB_TRY(check_not_inside(below));
      NB_TRY_ASSIGN(std::unique_ptr<fs::Directory> root, fs::open_user_directory(top));
      return Located{top, std::move(root), std::move(below), true};
    }
    if (stat.mount_root || top == "/" || (stop_at && top == *stop_at)) break;
    top = parent_of(top);
  }
  return here;
}

}  // namespace nb::txn
