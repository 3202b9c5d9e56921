// SPDX-License-Identifier: Apache-2.0
#include "txn/listed_name.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace nb::txn {
namespace {

// Whether nothing but the case of its letters can make another name the same.
bool is_plain(std::string_view name) {
  const auto is_plain_byte = [](char c) { return c >= ' ' && c < 0x7F && c != '~'; };
  return !name.ends_with('.') && !name.ends_with(' ') && std::all_of(name.begin(), name.end(), is_plain_byte);
}

std::string with_other_case(std::string name) {
  for (char& c : name) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
  }
  return name;
}

std::string listed_in(const fs::Directory& parent, const std::string& name) {
  if (is_only_name(parent, name)) return name;
  const auto listed = parent.list();
  if (!listed) return name;
  std::vector<std::string> names;
  for (const fs::NamedType& each : *listed) names.push_back(each.name);
  if (std::find(names.begin(), names.end(), name) != names.end()) return name;
  return listed_for(parent, names, name).value_or(name);
}

}  // namespace

bool may_fold_names(const fs::Directory& root, const fs::Directory* control) {
  // Some of those that have an identity can be made to ignore case (ZFS, ext4): then this file has another name too.
  return !root.file_system_identity() || (control != nullptr && control->stat_at("FORMAT"));
}

bool is_only_name(const fs::Directory& parent, const std::string& name) {
  if (!is_plain(name)) return false;
  const std::string folded = with_other_case(name);
  if (folded == name) return true;
  const auto found = parent.stat_at(folded);
  return !found && found.error().code == Errc::not_found;
}

std::optional<std::string> listed_for(const fs::Directory& parent, const std::vector<std::string>& names,
                                      const std::string& name) {
  std::optional<std::string> found;
  for (const std::string& each : names) {
    if (equals_ignoring_case(each, name)) found = each;
  }
  const auto asked = parent.stat_at(name);
  if (found || !asked) return found;
  for (const std::string& each : names) {
    const auto its = parent.stat_at(each);
    if (!its || its->inode != asked->inode) continue;
    if (found) return std::nullopt;
    found = each;
  }
  return found;
}

RelPath as_listed(const fs::Directory& root, const RelPath& path) {
  const auto control = root.open_directory(k_control_name);
  const bool folds = may_fold_names(root, control ? control->get() : nullptr);
  RelPath listed;
  for (const std::string_view each : split(path.str(), '/')) {
    const auto parent = listed.is_root() ? root.reopen() : root.open_directory_path(listed);
    std::string name(each);
    if (parent && (folds || (*parent)->folds_case())) name = listed_in(**parent, name);
    listed = listed.child(name);
  }
  return listed;
}

}  // namespace nb::txn
