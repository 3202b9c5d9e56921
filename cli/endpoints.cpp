// SPDX-License-Identifier: Apache-2.0
#include "cli/endpoints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cli/pool_path.hpp"

namespace nb::cli {
namespace {

using ssh::Location;
using ssh::TrailingSlash;

// The path as it was written, with the slash that says "its content".
std::string with_slash(const Location& place) {
  const bool add = place.trailing_slash == TrailingSlash::present && place.path != "/";
  return add ? place.path + "/" : place.path;
}

Result<std::string> absolute(const std::string& path) {
  std::error_code error;
  std::filesystem::path result = std::filesystem::absolute(path, error);
  if (error) return fail_errno("working directory", error.value());
  return result.string();
}

// Symlinks resolved as far as the path exists, so that two spellings are one place.
Result<std::string> real(const std::string& path) {
  std::error_code error;
  std::string text = std::filesystem::weakly_canonical(path, error).string();
  if (error) return absolute(path);
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text.empty() || text.front() != '/' ? absolute(text.empty() ? path : text) : Result<std::string>(text);
}

std::string normal_remote(const std::string& path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  if (text.size() > 1 && text.back() == '/') text.pop_back();
  return text.empty() ? "." : text;
}

Result<std::string> key_of(const Location& place) {
  if (place.host) return host_key(*place.host) + ":" + normal_remote(place.path);
  return real(place.path);
}

struct Source {
  Location place;  // for POOL:PATH what it is in the live tree, if there is one still
  std::string shown;
  std::optional<PoolPath> in_pool;
};

Result<Source> parse_source(const std::string& text, SourceTime time) {
  NB_TRY_ASSIGN(Location place, ssh::parse_location(text));
  if (time == SourceTime::live || place.path.find(':') == std::string::npos) {
    std::string shown = place.display();
    return Source{std::move(place), std::move(shown), std::nullopt};
  }
  NB_TRY_ASSIGN(PoolPath pool, parse_pool_path(text));
  return Source{pool.live_place(), pool.display(), std::move(pool)};
}

// Without what would end the place in an earlier state of a set.
Result<std::string> far_place(const Location& place) {
  NB_TRY_ASSIGN(std::string path, far_path(place));
  for (std::size_t at = 0; (at = path.find(wire::k_path_in_set)) != std::string::npos;) path.erase(at, 2);
  return path;
}

Result<std::string> far_source(const Source& source, SourceTime time) {
  if (source.in_pool) return far_path(*source.in_pool);
  return time == SourceTime::past ? far_place(source.place) : far_path(source.place);
}

// A source's own key keeps its trailing slash: "x" and "x/" make different trees.
Result<std::string> source_key_of(const std::vector<Source>& sources) {
  std::string key;
  for (const Source& source : sources) {
    NB_TRY_ASSIGN(const std::string one, key_of(source.place));
    if (!key.empty()) key += '\n';
    key += one;
    if (source.place.trailing_slash == TrailingSlash::present && one != "/") key += '/';
  }
  return key;
}

Status check_sides(CommandId command, const std::vector<Source>& sources, const Location& destination,
                   SourceTime time) {
  const Location& first = sources.front().place;
  for (const Source& source : sources) {
    if (source.place.host != first.host) return fail(Errc::usage, "all sources must be on one host");
  }
  if (first.host && destination.host) {
    return fail(Errc::usage, "source and destination cannot both be remote: run nbackup on one of the two hosts");
  }
  if (command == CommandId::verify && time == SourceTime::past && destination.host) {
    return fail(Errc::usage, "verify --at compares a set's past with a tree on this machine: the set is the source");
  }
  if (command == CommandId::push && first.host) {
    return fail(Errc::usage,
                fmt::format("push sends from this machine; to fetch from {} use: nbackup pull", first.host->name));
  }
  if (command == CommandId::restore && destination.host) {
    return fail(Errc::usage,
                fmt::format("restore writes to this machine; run nbackup restore on {}", destination.host->name));
  }
  if (command == CommandId::pull && destination.host) {
    return fail(Errc::usage,
                fmt::format("pull fetches to this machine; to send to {} use: nbackup push", destination.host->name));
  }
  return {};
}

wire::Operation operation_of(CommandId command, const Location& first_source, SourceTime time) {
  // Only the side that serves looks into the past.
  if (command == CommandId::pull || time == SourceTime::past) return wire::Operation::pull;
  return command == CommandId::verify && first_source.host ? wire::Operation::pull : wire::Operation::push;
}

}  // namespace

// The other end may start in another directory than ours, so a local path must be absolute.
Result<std::string> far_path(const Location& place) {
  if (place.host) return with_slash(place);
  return absolute(with_slash(place));
}

Result<std::string> far_path(const PoolPath& pool) {
  NB_TRY_ASSIGN(std::string path, far_place(pool.place));
  if (path.ends_with('/')) path.pop_back();
  if (pool.path.is_root()) return path + "/";
  return path + std::string(wire::k_path_in_set) + pool.path.str() +
         (pool.trailing_slash == TrailingSlash::present ? "/" : "");
}

std::string host_key(const ssh::Host& host) {
  std::string name = host.name;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  if (name.find(':') != std::string::npos) name = "[" + name + "]";
  std::string key = host.user ? *host.user + "@" + name : name;
  if (host.port) key += fmt::format(":{}", *host.port);
  return key;
}

Result<Endpoints> resolve_endpoints(CommandId command, const std::vector<std::string>& arguments, SourceTime time) {
  if (arguments.size() < 2) return fail(Errc::usage, "a source and a destination are needed");
  NB_TRY_ASSIGN(const Location destination, ssh::parse_location(arguments.back()));
  std::vector<Source> sources;
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    NB_TRY_ASSIGN(Source source, parse_source(arguments[i], time));
    sources.push_back(std::move(source));
  }
  NB_TRY(check_sides(command, sources, destination, time));

  Endpoints ends;
  ends.operation = operation_of(command, sources.front().place, time);
  const bool are_far = ends.operation == wire::Operation::pull;
  ends.host = are_far ? sources.front().place.host : destination.host;
  if (ends.host) ends.host_key = host_key(*ends.host);
  for (const Source& source : sources) {
    NB_TRY_ASSIGN(std::string path, are_far ? far_source(source, time) : with_slash(source.place));
    ends.sources.push_back(std::move(path));
    ends.shown_sources.push_back(source.shown);
  }
  NB_TRY_ASSIGN(ends.destination, are_far ? Result<std::string>(with_slash(destination)) : far_path(destination));
  ends.shown_destination = destination.display();
  NB_TRY_ASSIGN(ends.destination_key, key_of(destination));
  NB_TRY_ASSIGN(ends.source_key, source_key_of(sources));
  return ends;
}

Result<std::string> destination_key(const Location& place) { return key_of(place); }

Result<std::string> destination_key(const std::string& text) {
  NB_TRY_ASSIGN(const Location place, ssh::parse_location(text));
  return key_of(place);
}

std::string shown_together(const std::vector<std::string>& sources) {
  return sources.size() == 1 ? sources.front() : fmt::format("{} sources", sources.size());
}

}  // namespace nb::cli
