// SPDX-License-Identifier: Apache-2.0
#include "session/user_path.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rel_path.hpp"
#include "base/text.hpp"
#include "fs/path_root.hpp"
#include "fs/posix_directory.hpp"

namespace nb::session {
namespace {

std::string strip_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

struct Split {
  std::string directory;
  std::string name;
};

Split split_last(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {".", path};
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

std::string join(const std::string& directory, const std::string& name) {
  return (directory == "/" ? "" : directory) + "/" + name;
}

bool means_content(const std::string& source) {
  if (source.empty() || source.back() == '/') return true;
  const std::string_view last = std::string_view(source).substr(source.rfind('/') + 1);  // npos + 1 is 0
  return last == "." || last == "..";
}

// Where case is ignored another spelling leads there too, and the kernel calls it what the user called it.
bool is_nearly_reserved(std::string_view name) {
  return equals_ignoring_case(name, k_control_name) || equals_ignoring_case(name, k_control_new_name);
}

Result<SourcePath> source_in(const fs::PathRoot& root, const std::string& source) {
  SourcePath out;
  if (means_content(source)) {
    NB_TRY_ASSIGN(out.handle, root.open_directory(source));
    return out;
  }
  const Split split = split_last(source);
  if (!is_safe_name(split.name)) return fail(Errc::path, "name not usable");
  out.name = split.name;
  if (root.is_top(source)) {
    // The parent of --root itself lies outside, but naming --root from there is the plainest way to ask for it.
    const Split top = split_last(root.top_path());
    out.name = top.name;
    NB_TRY_ASSIGN(out.handle, fs::open_user_directory(top.directory));
    return out;
  }
  NB_TRY_ASSIGN(out.handle, root.open_directory(split.directory));
  return out;
}

Result<TargetPath> existing(const fs::PathRoot& root, const std::string& path) {
  TargetPath out;
  NB_TRY_ASSIGN(out.handle, root.open_directory(path));
  NB_TRY_ASSIGN(out.directory, fs::real_path_of(*out.handle));
  NB_TRY(refuse_reserved(out.directory));
  return out;
}

Result<TargetPath> in_parent(const fs::PathRoot& root, const std::string& path) {
  const Split split = split_last(path);
  NB_TRY_ASSIGN(TargetPath out, existing(root, split.directory));
  if (!is_safe_name(split.name) || is_nearly_reserved(split.name)) {
    return fail(Errc::path, "destination " + path + ": name not usable");
  }
  out.new_name = split.name;
  return out;
}

}  // namespace

Status refuse_reserved(const std::string& path) {
  const std::vector<std::string_view> names = split(path, '/');
  if (std::none_of(names.begin(), names.end(), is_nearly_reserved)) return {};
  return fail(Errc::path, path + ": what nbackup keeps beside a file set is neither copied nor written to");
}

std::optional<std::string> entry_named_by(const std::string& source) {
  if (means_content(source)) return std::nullopt;
  return split_last(source).name;
}

Result<SourcePath> resolve_source(const std::string& source, const std::optional<std::string>& stay_within) {
  NB_TRY_ASSIGN(const fs::PathRoot root, fs::PathRoot::open(stay_within));
  NB_TRY_ASSIGN(SourcePath out, source_in(root, source));
  NB_TRY_ASSIGN(out.directory, fs::real_path_of(*out.handle));
  NB_TRY(refuse_reserved(out.name ? join(out.directory, *out.name) : out.directory));
  return out;
}

Result<TargetPath> resolve_target(const std::string& destination, SourceShape shape,
                                  const std::optional<std::string>& stay_within) {
  NB_TRY_ASSIGN(const fs::PathRoot root, fs::PathRoot::open(stay_within));
  const bool slash = !destination.empty() && destination.back() == '/';
  const std::string path = strip_slashes(destination);
  const Result<fs::Stat> there = root.stat(path);
  if (!there && there.error().code != Errc::not_found) return tl::make_unexpected(there.error());
  if (there && there->type == fs::FileType::directory) return existing(root, path);
  if (there && (slash || shape == SourceShape::tree)) return fail(Errc::path, path + " is not a directory");
  // Who names /dev/null does not mean to replace it.
  if (there && there->type != fs::FileType::regular && there->type != fs::FileType::symlink) {
    return fail(Errc::path, path + " is neither a file nor a directory");
  }
  NB_TRY_ASSIGN(TargetPath target, in_parent(root, path));
  if (shape == SourceShape::single_file && !slash) return target;
  const auto link = target.handle->stat_at(*target.new_name);
  if (link && link->type == fs::FileType::symlink) return fail(Errc::path, path + " is a symlink that leads nowhere");
  target.missing = std::exchange(target.new_name, std::nullopt);
  target.directory = join(target.directory, *target.missing);
  return target;
}

Result<txn::Located> locate_target(TargetPath target, const std::optional<std::string>& stay_within) {
  NB_TRY_ASSIGN(const fs::PathRoot bounds, fs::PathRoot::open(stay_within));
  NB_TRY_ASSIGN(txn::Located found, txn::locate_set(bounds, std::move(target.handle)));
  if (!target.missing) return found;
  if (found.is_set) {
    found.below = found.below.child(*target.missing);
  } else {
    found.root_path = std::move(target.directory);
  }
  return found;
}

}  // namespace nb::session
