// SPDX-License-Identifier: Apache-2.0
#include "cache/client_state.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstring>
#include <initializer_list>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

constexpr const char* k_columns = "destination, source, uuid, generation, last_push_ns, last_exit, bytes, files";

std::optional<SetId> set_id(const SQLite::Column& column) {
  SetId id{};
  if (column.isNull() || column.getBytes() != static_cast<int>(id.size())) return std::nullopt;
  std::memcpy(id.data(), column.getBlob(), id.size());
  return id;
}

KnownSet known_set(const SQLite::Statement& row) {
  KnownSet set;
  set.destination = row.getColumn(0).getString();
  set.source = row.getColumn(1).getString();
  set.set = set_id(row.getColumn(2));
  set.generation = to_unsigned(row.getColumn(3).getInt64());
  set.last_push_ns = row.getColumn(4).getInt64();
  set.last_exit = row.getColumn(5).getInt();
  set.bytes = to_unsigned(row.getColumn(6).getInt64());
  set.files = to_unsigned(row.getColumn(7).getInt64());
  return set;
}

// Of each table the rows for which `condition` holds, with these values; whether the last table had any.
bool remove_from(Store& store, std::initializer_list<const char*> tables, const std::string& condition,
                 std::initializer_list<std::string> values) {
  bool removed = false;
  store.with([&](Connection& connection) {
    SQLite::Database& database = connection.database();
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    for (const char* table : tables) {
      SQLite::Statement remove(database, std::string("DELETE FROM ") + table + " WHERE " + condition);
      int index = 0;
      for (const std::string& value : values) remove.bind(++index, value);
      removed = remove.exec() > 0;
    }
    transaction.commit();
  });
  return removed;
}

void write_set(SQLite::Database& database, const KnownSet& set) {
  SQLite::Statement insert(
      database, std::string("INSERT OR REPLACE INTO known_sets(") + k_columns + ") VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(1, set.destination);
  insert.bind(2, set.source);
  if (set.set) insert.bind(3, set.set->data(), static_cast<int>(set.set->size()));
  insert.bind(4, to_signed(set.generation));
  insert.bind(5, set.last_push_ns);
  insert.bind(6, set.last_exit);
  insert.bind(7, to_signed(set.bytes));
  insert.bind(8, to_signed(set.files));
  insert.exec();
}

void write_mounts(SQLite::Database& database, const KnownSet& set, const std::vector<std::string>& mounts) {
  SQLite::Statement remove(database, "DELETE FROM mounts WHERE destination = ? AND source = ?");
  remove.bind(1, set.destination);
  remove.bind(2, set.source);
  remove.exec();
  SQLite::Statement insert(database, "INSERT OR IGNORE INTO mounts(destination, source, path) VALUES(?, ?, ?)");
  for (const std::string& path : mounts) {
    insert.bind(1, set.destination);
    insert.bind(2, set.source);
    insert.bind(3, path);
    insert.exec();
    insert.reset();
  }
}

}  // namespace

std::optional<KnownSet> ClientState::find_set(const std::string& destination) {
  std::optional<KnownSet> found;
  m_store->with([&](Connection& connection) {
    SQLite::Database& database = connection.database();
    SQLite::Statement query(database, std::string("SELECT ") + k_columns +
                                          " FROM known_sets WHERE destination = ? AND uuid IS NOT NULL"
                                          " ORDER BY last_push_ns DESC LIMIT 1");
    query.bind(1, destination);
    if (query.executeStep()) found = known_set(query);
  });
  return found;
}

std::vector<std::string> ClientState::find_mounts(const std::string& destination, const std::string& source) {
  std::vector<std::string> mounts;
  m_store->with([&](Connection& connection) {
    SQLite::Database& database = connection.database();
    mounts.clear();
    SQLite::Statement query(database, "SELECT path FROM mounts WHERE destination = ? AND source = ? ORDER BY path");
    query.bind(1, destination);
    query.bind(2, source);
    while (query.executeStep()) mounts.push_back(query.getColumn(0).getString());
  });
  return mounts;
}

void ClientState::record_push(const KnownSet& set, const std::vector<std::string>& mounts) {
  m_store->with([&](Connection& connection) {
    SQLite::Database& database = connection.database();
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    write_set(database, set);
    write_mounts(database, set, mounts);
    transaction.commit();
  });
}

void ClientState::record_failure(const std::string& destination, const std::string& source, int exit_code) {
  m_store->with([&](Connection& connection) {
    SQLite::Database& database = connection.database();
    SQLite::Statement update(database, "UPDATE known_sets SET last_exit = ? WHERE destination = ? AND source = ?");
    update.bind(1, exit_code);
    update.bind(2, destination);
    update.bind(3, source);
    update.exec();
  });
}

std::vector<KnownSet> ClientState::list_sets() {
  std::vector<KnownSet> sets;
  m_store->with([&](Connection& connection) {
    SQLite::Database& database = connection.database();
    sets.clear();
    SQLite::Statement query(database,
                            std::string("SELECT ") + k_columns + " FROM known_sets ORDER BY destination, source");
    while (query.executeStep()) sets.push_back(known_set(query));
  });
  return sets;
}

bool ClientState::forget(const std::string& destination) {
  return remove_from(*m_store, {"mounts", "set_reports", "outcomes", "known_sets"}, "destination = ?", {destination});
}

void ClientState::forget_source(const std::string& destination, const std::string& source) {
  remove_from(*m_store, {"mounts", "known_sets"}, "destination = ? AND source = ?", {destination, source});
}

}  // namespace nb::cache
