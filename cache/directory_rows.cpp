// SPDX-License-Identifier: Apache-2.0
#include "cache/directory_rows.hpp"

#include "base/text.hpp"
#include "cache/sums.hpp"

namespace nb::cache::rows {
namespace {

void bind_path(SQLite::Statement& statement, int index, const std::string& path) {
  bind_blob(statement, index, as_bytes(path));
}

}  // namespace

bool knows_listings(Connection& connection) {
  return connection.statement("SELECT 1 FROM directories WHERE listing IS NOT NULL LIMIT 1").executeStep();
}

void put_listing(Connection& connection, const std::string& path, const hash::Digest& digest) {
  SQLite::Statement& insert = connection.statement(
      "INSERT INTO directories(path, listing) VALUES(?1, ?2)"
      " ON CONFLICT(path) DO UPDATE SET listing = excluded.listing WHERE listing IS NOT excluded.listing");
  bind_path(insert, 1, path);
  bind_blob(insert, 2, digest.bytes);
  insert.exec();
}

std::vector<std::string> find_listing(Connection& connection, const hash::Digest& digest, std::size_t most) {
  SQLite::Statement& query = connection.statement("SELECT path FROM directories WHERE listing = ? LIMIT ?");
  bind_blob(query, 1, digest.bytes);
  query.bind(2, static_cast<std::int64_t>(most));
  std::vector<std::string> paths;
  while (query.executeStep()) paths.emplace_back(as_text(blob_in(query.getColumn(0))));
  return paths;
}

void put_extras(Connection& connection, const std::string& path, const std::string& names) {
  SQLite::Statement& insert = connection.statement(
      "INSERT INTO directories(path, extras) VALUES(?1, ?2)"
      " ON CONFLICT(path) DO UPDATE SET extras = excluded.extras");
  bind_path(insert, 1, path);
  bind_blob(insert, 2, as_bytes(names));
  insert.exec();
}

std::string find_extras(Connection& connection, const std::string& path) {
  SQLite::Statement& query =
      connection.statement("SELECT extras FROM directories WHERE path = ? AND extras IS NOT NULL");
  bind_path(query, 1, path);
  return query.executeStep() ? std::string(as_text(blob_in(query.getColumn(0)))) : std::string();
}

}  // namespace nb::cache::rows
