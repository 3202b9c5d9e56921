// SPDX-License-Identifier: Apache-2.0
#include "session/set_path.hpp"

#include <cerrno>
#include <vector>

#include "base/text.hpp"
#include "session/user_path.hpp"
#include "wire/messages_session.hpp"

namespace nb::session {
namespace {

using Names = std::vector<std::string>;

Names names_of(std::string_view path) {
  Names names;
  for (const std::string_view name : split(path, '/')) {
    if (!name.empty() && name != ".") names.emplace_back(name);
  }
  return names;
}

// A directory in a set, and how many names led to it.
struct Entrance {
  std::unique_ptr<fs::Directory> directory;
  std::size_t used = 0;
};

// The first directory on the way that lies in a set.
Result<Entrance> find_entrance(const fs::PathRoot& bounds, const std::string& path, const Names& names) {
  std::string so_far = path.starts_with('/') ? "/" : ".";
  Status last;
  std::optional<std::uint32_t> passed_over;
  for (std::size_t used = 0;; ++used) {
    auto opened = bounds.open_directory(so_far);
    if (opened) {
      NB_TRY_ASSIGN(auto again, (*opened)->reopen());
      NB_TRY_ASSIGN(const txn::Located found, txn::locate_set(bounds, std::move(again)));
      if (found.is_set) return Entrance{std::move(*opened), used};
      passed_over = found.passed_over;
    }
    last = opened ? Status() : tl::make_unexpected(opened.error());
    // What begins outside of the confining directory may lead into it.
    if (used == names.size() || (!last && last.error().code != Errc::path)) break;
    so_far += (so_far.ends_with('/') ? "" : "/") + names[used];
  }
  const bool ended = last || last.error().code == Errc::not_found || last.error().sys_errno == ENOTDIR;
  if (!ended) return tl::make_unexpected(last.error());
  return no_set_at(path, passed_over);
}

Status check_inside(const std::string& path, const Names& names, std::size_t from) {
  for (std::size_t i = from; i < names.size(); ++i) {
    if (names[i] == "..") return fail(Errc::path, path + ": '..' is not followed inside of a file set");
  }
  return {};
}

// Goes on from there as long as there are directories, `last` of the names at most.
void go_down(Entrance& at, const Names& names, std::size_t last) {
  while (at.used < last) {
    if (!is_safe_name(names[at.used])) break;
    const auto stat = at.directory->stat_at(names[at.used]);
    if (!stat || stat->type != fs::FileType::directory) break;
    auto below = at.directory->open_directory(names[at.used]);
    if (!below) break;
    at.directory = std::move(*below);
    ++at.used;
  }
}

Result<RelPath> rest_of(const RelPath& below, const Names& names, std::size_t used) {
  std::string text = below.str();
  for (std::size_t i = used; i < names.size(); ++i) text += (text.empty() ? "" : "/") + names[i];
  return RelPath::parse(text);
}

// What is before the separator of such a source, at `end`; "/./x" begins at the root of all.
std::string place_before(const std::string& source, std::size_t end) { return end == 0 ? "/" : source.substr(0, end); }

// `place`: the beginning of `path` that names a directory in the set.
Result<SetPath> find(const fs::PathRoot& bounds, const std::string& path, const std::string& place) {
  const Names names = names_of(path);
  const Names to_place = names_of(place);
  NB_TRY_ASSIGN(Entrance at, find_entrance(bounds, place, to_place));
  NB_TRY(check_inside(path, names, at.used));
  go_down(at, names, to_place.size());
  NB_TRY_ASSIGN(txn::Located found, txn::locate_set(bounds, std::move(at.directory)));
  if (!found.is_set) return no_set_at(path, found.passed_over);
  SetPath out;
  NB_TRY_ASSIGN(out.inside, rest_of(found.below, names, at.used));
  NB_TRY(refuse_reserved(out.inside.str()));
  out.root = std::move(found.root);
  out.root_path = std::move(found.root_path);
  return out;
}

}  // namespace

tl::unexpected<Error> no_set_at(const std::string& path, const std::optional<std::uint32_t>& passed_over) {
  if (!passed_over) return fail(Errc::path, path + " is not in a file set: push or init makes one, status lists them");
  return fail(Errc::path, path + " is in no file set of this user; there is one of user " +
                              std::to_string(*passed_over) + ": run as that user");
}

Result<SetPath> find_in_set(const fs::PathRoot& bounds, const std::string& path) { return find(bounds, path, path); }

Result<SetPath> find_source_in_set(const fs::PathRoot& bounds, const std::string& source) {
  return find(bounds, source, place_before(source, source.find(wire::k_path_in_set)));
}

std::string shown_source(const std::string& source) {
  const std::size_t end = source.find(wire::k_path_in_set);
  if (end == std::string::npos) return source;
  return place_before(source, end) + ":" + source.substr(end + wire::k_path_in_set.size());
}

}  // namespace nb::session
