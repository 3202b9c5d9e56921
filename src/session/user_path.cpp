// SPDX-License-Identifier: Apache-2.0
#include "session/user_path.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/rel_path.hpp"
#include "txn/file_set.hpp"

namespace nb::session {
namespace {

Result<std::string> real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  if (!real) return fail_errno(path);
  return std::string(real.get());
}

bool lies_within(const std::string& path, const std::string& root) {
  return path == root || root == "/" || (path.starts_with(root) && path[root.size()] == '/');
}

Status confine(const std::string& real, const std::optional<std::string>& stay_within) {
  if (!stay_within || lies_within(real, *stay_within)) return {};
  return fail(Errc::path, real + " lies outside " + *stay_within + ", which serve --root confines this key to");
}

// Relative paths start at --root, or where this process runs (the home directory under sshd).
std::string from_start(const std::string& path, const std::optional<std::string>& stay_within) {
  if (path.empty()) return stay_within.value_or(".");
  if (path.front() == '/' || !stay_within) return path;
  return *stay_within + "/" + path;
}

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

}  // namespace

std::optional<std::string> entry_named_by(const std::string& source) {
  if (means_content(source)) return std::nullopt;
  return split_last(source).name;
}

Result<SourcePath> resolve_source(const std::string& source, const std::optional<std::string>& stay_within) {
  const std::string path = from_start(source, stay_within);
  SourcePath out;
  if (means_content(path) || source.empty()) {
    NB_TRY_ASSIGN(out.directory, real_path(path));
  } else {
    const Split split = split_last(path);
    NB_TRY_ASSIGN(out.directory, real_path(split.directory));
    if (!is_safe_name(split.name)) return fail(Errc::path, "name not usable");
    out.name = split.name;
  }
  // The parent of --root itself lies outside, but naming --root from there is the plainest way to ask for it.
  if (stay_within && out.name && join(out.directory, *out.name) == *stay_within) return out;
  NB_TRY(confine(out.directory, stay_within));
  return out;
}

namespace {

Result<TargetPath> in_parent(const std::string& path, const std::optional<std::string>& stay_within) {
  const Split split = split_last(path);
  TargetPath out;
  NB_TRY_ASSIGN(out.directory, real_path(split.directory));
  NB_TRY(confine(out.directory, stay_within));
  if (!is_safe_name(split.name) || split.name == txn::k_control_name) {
    return fail(Errc::path, "destination " + path + ": name not usable");
  }
  out.new_name = split.name;
  return out;
}

Result<TargetPath> make_target(const TargetPath& parent, MissingDirectory missing) {
  TargetPath out;
  out.directory = join(parent.directory, *parent.new_name);
  out.exists = missing == MissingDirectory::make;
  if (out.exists && ::mkdir(out.directory.c_str(), 0777) != 0 && errno != EEXIST) return fail_errno(out.directory);
  return out;
}

}  // namespace

Result<TargetPath> resolve_target(const std::string& destination, SourceShape shape, MissingDirectory missing,
                                  const std::optional<std::string>& stay_within) {
  const std::string full = from_start(destination, stay_within);
  const bool slash = full.back() == '/';
  const std::string path = strip_slashes(full);
  struct ::stat info {};
  const bool there = ::stat(path.c_str(), &info) == 0;
  if (!there && errno != ENOENT) return fail_errno(path);
  if (there && S_ISDIR(info.st_mode)) {
    TargetPath out;
    NB_TRY_ASSIGN(out.directory, real_path(path));
    NB_TRY(confine(out.directory, stay_within));
    return out;
  }
  if (there && (slash || shape == SourceShape::tree)) return fail(Errc::path, path + " is not a directory");
  NB_TRY_ASSIGN(const TargetPath parent, in_parent(path, stay_within));
  if (shape == SourceShape::single_file && !slash) return parent;
  return make_target(parent, missing);
}

}  // namespace nb::session
