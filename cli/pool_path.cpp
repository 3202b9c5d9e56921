// SPDX-License-Identifier: Apache-2.0
#include "cli/pool_path.hpp"

#include "base/text.hpp"

namespace nb::cli {
namespace {

constexpr std::string_view k_plain_end = "/:";

// Without the slashes at its end, unless it is nothing else.
std::string_view without_end_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

Result<RelPath> path_in_set(std::string_view text, std::string_view whole) {
  std::string clean;
  for (const std::string_view name : split(text, '/')) {
    if (name.empty() || name == ".") continue;
    if (name == "..") return fail(Errc::path, "'" + std::string(whole) + "': '..' in a path inside a file set");
    if (!clean.empty()) clean += '/';
    clean += name;
  }
  if (has_reserved_name(clean)) {
    return fail(Errc::path, "'" + std::string(whole) + "': what nbackup keeps beside the set is no part of it");
  }
  auto path = RelPath::parse(clean);
  if (!path) return fail(Errc::path, "'" + std::string(whole) + "': a path or a name in it is too long");
  return path;
}

bool means_content(std::string_view path) {
  const std::string_view last = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  return last.empty() || last == ".";
}

}  // namespace

ssh::Location PoolPath::live_place() const {
  ssh::Location live = place;
  if (!path.is_root()) live.path += (live.path.ends_with('/') ? "" : "/") + path.str();
  live.trailing_slash = trailing_slash;
  return live;
}

std::string PoolPath::display() const {
  const bool colon_in_place = place.path.find(':') != std::string::npos;
  // Before a colon, a name alone is that of a host.
  const bool could_be_host = !place.host && place.path.find('/') == std::string::npos;
  const bool needs_slash = colon_in_place || could_be_host || path.str().find(k_plain_end) != std::string::npos;
  const std::string_view end = needs_slash && place.path != "/" ? k_plain_end : ":";
  if (path.is_root()) return place.display() + std::string(colon_in_place ? end : "");
  return place.display() + std::string(end) + path.str() + (trailing_slash == ssh::TrailingSlash::present ? "/" : "");
}

Result<PoolPath> parse_pool_path(std::string_view text) {
  PoolPath pool;
  NB_TRY_ASSIGN(pool.place, ssh::parse_location(text));
  const std::string both = std::move(pool.place.path);
  std::size_t colon = both.find(k_plain_end);
  colon = colon == std::string::npos ? both.find(':') : colon + 1;
  if (colon == std::string::npos) {
    pool.place.path = both;
    pool.trailing_slash = ssh::TrailingSlash::present;
  } else {
    const std::string_view inside = std::string_view(both).substr(colon + 1);
    const bool slash = pool.place.trailing_slash == ssh::TrailingSlash::present || means_content(inside);
    pool.place.path = without_end_slashes(std::string_view(both).substr(0, colon));
    // ":x" names no set; "." would be one by accident.
    if (pool.place.path.empty())
      return fail(Errc::usage, "no file set before the colon in '" + std::string(text) + "'");
    NB_TRY_ASSIGN(pool.path, path_in_set(inside, text));
    pool.trailing_slash = slash ? ssh::TrailingSlash::present : ssh::TrailingSlash::absent;
  }
  pool.place.trailing_slash = ssh::TrailingSlash::absent;
  return pool;
}

}  // namespace nb::cli
