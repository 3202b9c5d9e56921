// SPDX-License-Identifier: Apache-2.0
#include "cli/apart.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "filter/rules.hpp"

namespace nb::cli {
namespace {

bool are_on_two(const std::string& source, const std::string& destination) {
  struct stat from {};
  struct stat to {};
  if (::stat(source.c_str(), &from) != 0) return false;
  const bool is_there = ::stat(destination.c_str(), &to) == 0;
  if (!is_there && ::stat(std::filesystem::path(destination).parent_path().c_str(), &to) != 0) return false;
  return from.st_dev != to.st_dev;
}

// The path in the transfer of what lies at the real path `to`, if that is inside of `source`. The root of the transfer
// is no such path: a tree that goes to its own place is one that does not change.
std::optional<RelPath> path_inside(const std::string& source, const std::filesystem::path& to) {
  std::error_code error;
  // A symlink that is itself what is copied leads nowhere.
  if (!std::filesystem::is_directory(std::filesystem::symlink_status(source, error))) return std::nullopt;
  const std::filesystem::path from = std::filesystem::canonical(source, error);
  if (error) return std::nullopt;
  auto [above, below] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  if (above != from.end()) return std::nullopt;
  std::filesystem::path path = source.ends_with('/') ? std::filesystem::path() : from.filename();
  for (; below != to.end(); ++below) path /= *below;
  auto inside = RelPath::parse(path.string());
  return inside && !inside->is_root() ? std::optional(*std::move(inside)) : std::nullopt;
}

bool is_one(const std::string& source, const std::string& destination) {
  std::error_code error;
  return std::filesystem::canonical(source, error) == destination;
}

bool is_left_out(const filter::Rules& rules, const RelPath& path) {
  for (RelPath each = path; !each.is_root(); each = each.parent()) {
    if (rules.check(each, fs::FileType::directory) == filter::Verdict::exclude) return true;
  }
  return false;
}

}  // namespace

Status check_apart(const Endpoints& ends, const session::Options& options) {
  if (ends.host) return {};
  NB_TRY_ASSIGN(const filter::Rules rules, session::rules_of(options.filter_rules));
  const std::string& real_destination = ends.destination_key;
  const bool stays_on_one = (options.flags & wire::k_flag_one_file_system) != 0;
  for (const std::string& source : ends.sources) {
    const auto inside = path_inside(source, real_destination);
    if (!inside || is_left_out(rules, *inside) || (stays_on_one && are_on_two(source, real_destination))) continue;
    const std::string where = "destination " + ends.shown_destination;
    if (is_one(source, real_destination)) {
      return fail(Errc::path, where + " is the source " + source + " itself and would be copied into itself");
    }
    return fail(Errc::path, where + " lies in the source " + source +
                                " and would be copied with it; leave it out: --exclude=/" + inside->str());
  }
  return {};
}

}  // namespace nb::cli
