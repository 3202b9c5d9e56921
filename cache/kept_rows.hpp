// SPDX-License-Identifier: Apache-2.0
// The rows of kept.db (docs/formats.md, "Kept beside the tree"): how they are written, read and checked. The only user
// is kept_store.cpp; all of it runs within Store::with, and throws as SQLite does.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "cache/store.hpp"
#include "fs/stat.hpp"

namespace nb::cache {

inline constexpr std::int64_t k_stands = std::numeric_limits<std::int64_t>::max();  // column gone: no end yet

struct Row {
  std::int64_t since = 0;
  std::int64_t type = 0;
  Bytes attributes;
};

struct RowKey {
  Bytes path;
  std::int64_t since = 0;
};

// Attributes as a row holds them; nothing from what is no such encoding.
Bytes encode(const fs::Xattrs& attributes);
fs::Xattrs decode(ByteView bytes);

void bind_path(SQLite::Statement& statement, int index, const std::string& path);
// The first row of `path` that a query, which names since, type, attributes, sum, finds; nothing if it is damaged.
std::optional<Row> row_in(SQLite::Statement& query, const std::string& path);

// From the generation `next` on no row holds for `path`.
void end_row(Connection& connection, std::int64_t next, const std::string& path);
// A statement for `next` and all paths below `path`.
void run_below(Connection& connection, const char* sql, std::int64_t next, const std::string& path);
void insert(Connection& connection, const std::string& path, const Row& row);
void exec_with(Connection& connection, const char* sql, std::int64_t value);

// Whether a run wrote rows and did not end.
bool has_run(Connection& connection);
// Takes back what was written for generations after `present`; what ended up to it goes.
void take_back(Connection& connection, std::int64_t present);
// Rows that are not what was written. Reads them all.
std::vector<RowKey> damaged_rows(Connection& connection, std::int64_t present);
void remove_rows(Connection& connection, const std::vector<RowKey>& keys);

}  // namespace nb::cache
