// SPDX-License-Identifier: Apache-2.0
// What the manifest's table of directories says beside their paths: the digest of the listing that each was committed
// with, and the names in it that its source does not have. Both are hints, checked by whoever uses them. Internal to
// cache/; SQLite's exceptions pass through.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "cache/store.hpp"
#include "hash/digest.hpp"

namespace nb::cache::rows {

bool knows_listings(Connection& connection);
// Makes the directory's row where it is missing.
void put_listing(Connection& connection, const std::string& path, const hash::Digest& digest);
// Paths of directories with that listing, at most `most`.
std::vector<std::string> find_listing(Connection& connection, const hash::Digest& digest, std::size_t most);

// Names, one after the other, each with a NUL behind it; empty: there are none.
void put_extras(Connection& connection, const std::string& path, const std::string& names);
std::string find_extras(Connection& connection, const std::string& path);

}  // namespace nb::cache::rows
