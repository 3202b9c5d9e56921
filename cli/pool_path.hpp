// SPDX-License-Identifier: Apache-2.0
// POOL[:PATH]: a file set, and what is meant in it, as ls, cat, diff, restore and rollback take it. Pure.
#pragma once

#include <string_view>

#include "base/rel_path.hpp"
#include "ssh/destination.hpp"

namespace nb::cli {

struct PoolPath {
  ssh::Location place;  // the set's root, or a directory of the live tree below it; without a trailing slash
  RelPath path;         // seen from there; the root: all of it
  ssh::TrailingSlash trailing_slash = ssh::TrailingSlash::absent;  // of PATH: its content is meant; the root has one

  // The place that this is in the live tree, if there is one still.
  [[nodiscard]] ssh::Location live_place() const;
  // For messages: "user@host:/pool:home/me".
  [[nodiscard]] std::string display() const;
  friend bool operator==(const PoolPath&, const PoolPath&) = default;
};

// POOL is what ssh::parse_location takes. It ends at the first colon behind its host; but where "/:" occurs, at the
// first of these, so that every name can be said: "/a:b/:c:d" is "c:d" in the set "/a:b", and "/a:b/:" all of that set.
// PATH may begin with slashes, which mean the set's root; "." in it means nothing. Errors are those of parse_location,
// and Errc::path for a PATH with "..", with a name too long, or into what nbackup keeps beside the set.
Result<PoolPath> parse_pool_path(std::string_view text);

}  // namespace nb::cli
