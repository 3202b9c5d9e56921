// SPDX-License-Identifier: Apache-2.0
#include "cache/kept_rows.hpp"

#include "cache/kept_store.hpp"
#include "cache/sums.hpp"
#include "hash/digest.hpp"

namespace nb::cache {
namespace {

std::int64_t sum_of(const std::string& path, const Row& row) {
  Bytes bytes;
  ByteWriter out(bytes);
  out.string(path);
  out.u64(to_unsigned(row.since));
  out.u64(to_unsigned(row.type));
  out.raw(row.attributes);
  return to_signed(hash::check_of(bytes));
}

// The row of `path` at which a query stands that names since, type, attributes, sum; nothing if it is damaged.
std::optional<Row> row_at(SQLite::Statement& query, const std::string& path) {
  const ByteView attributes = blob_in(query.getColumn(2));
  Row row{query.getColumn(0).getInt64(), query.getColumn(1).getInt64(), {attributes.begin(), attributes.end()}};
  if (sum_of(path, row) != query.getColumn(3).getInt64()) return std::nullopt;
  return row;
}

void run_for_path(Connection& connection, const char* sql, std::int64_t next, const std::string& path) {
  SQLite::Statement& statement = connection.statement(sql);
  statement.bind(1, next);
  bind_blob(statement, 2, as_bytes(path));
  statement.exec();
}

}  // namespace

Bytes encode(const fs::Xattrs& attributes) {
  Bytes bytes;
  ByteWriter out(bytes);
  for (const fs::Xattr& each : attributes) {
    out.string(each.name);
    out.string(each.value);
  }
  return bytes;
}

fs::Xattrs decode(ByteView bytes) {
  fs::Xattrs attributes;
  ByteReader in(bytes, Errc::bad_set, "kept attributes");
  while (!in.at_end()) {
    auto name = in.string(k_max_kept_bytes);
    auto value = name ? in.string(k_max_kept_bytes) : Result<std::string>(fail(Errc::bad_set, ""));
    if (!value) return {};
    attributes.push_back({std::move(*name), std::move(*value)});
  }
  return attributes;
}

void bind_path(SQLite::Statement& statement, int index, const std::string& path) {
  bind_blob(statement, index, as_bytes(path));
}

std::optional<Row> row_in(SQLite::Statement& query, const std::string& path) {
  return query.executeStep() ? row_at(query, path) : std::nullopt;
}

void end_row(Connection& connection, std::int64_t next, const std::string& path) {
  run_for_path(connection, "DELETE FROM kept WHERE since = ? AND path = ?", next, path);
  run_for_path(connection, "UPDATE kept SET gone = ? WHERE gone = 9223372036854775807 AND path = ?", next, path);
}

void run_below(Connection& connection, const char* sql, std::int64_t next, const std::string& path) {
  SQLite::Statement& statement = connection.statement(sql);
  statement.bind(1, next);
  bind_path(statement, 2, path + "/");
  bind_path(statement, 3, path + "0");  // the byte after '/'
  statement.exec();
}

void insert(Connection& connection, const std::string& path, const Row& row) {
  SQLite::Statement& statement = connection.statement(
      "INSERT OR REPLACE INTO kept(path, since, gone, type, attributes, sum) VALUES(?, ?, ?, ?, ?, ?)");
  bind_path(statement, 1, path);
  statement.bind(2, row.since);
  statement.bind(3, k_stands);
  statement.bind(4, row.type);
  bind_blob(statement, 5, row.attributes);
  statement.bind(6, sum_of(path, row));
  statement.exec();
}

void exec_with(Connection& connection, const char* sql, std::int64_t value) {
  SQLite::Statement& statement = connection.statement(sql);
  statement.bind(1, value);
  statement.exec();
}

bool has_run(Connection& connection) {
  return connection.statement("SELECT writing FROM run WHERE id = 1").executeStep();
}

// Only a run that has not ended leaves rows with an end.
std::vector<RowKey> damaged_rows(Connection& connection, std::int64_t present) {
  const std::int64_t last_end = has_run(connection) ? present + 1 : 0;
  std::vector<RowKey> damaged;
  SQLite::Statement& query = connection.statement("SELECT since, type, attributes, sum, path, gone FROM kept");
  while (query.executeStep()) {
    const ByteView path = blob_in(query.getColumn(4));
    const std::int64_t gone = query.getColumn(5).getInt64();
    const bool has_end = gone == k_stands || (gone > 0 && gone <= last_end);
    if (has_end && row_at(query, std::string(as_text(path)))) continue;
    damaged.push_back({{path.begin(), path.end()}, query.getColumn(0).getInt64()});
  }
  return damaged;
}

void remove_rows(Connection& connection, const std::vector<RowKey>& keys) {
  for (const RowKey& key : keys) {
    SQLite::Statement& statement = connection.statement("DELETE FROM kept WHERE since = ? AND path = ?");
    statement.bind(1, key.since);
    bind_blob(statement, 2, key.path);
    statement.exec();
  }
}

void take_back(Connection& connection, std::int64_t present) {
  exec_with(connection, "DELETE FROM kept WHERE gone <= ?", present);
  exec_with(connection, "DELETE FROM kept WHERE since > ?", present);
  SQLite::Statement& statement =
      connection.statement("UPDATE kept SET gone = 9223372036854775807 WHERE gone > ? AND gone < 9223372036854775807");
  statement.bind(1, present);
  statement.exec();
}

}  // namespace nb::cache
