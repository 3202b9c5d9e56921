// SPDX-License-Identifier: Apache-2.0
#include "cache/upkeep.hpp"

#include <sqlite3.h>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

// What a row of `digests` takes in the file: 68 measured (docs/decisions.md), more where rows came in between others.
constexpr std::uint64_t k_digest_row_bytes = 90;
constexpr std::int64_t k_days_between = 7;

std::int64_t day_of(WallTime now) { return std::chrono::floor<std::chrono::days>(now).time_since_epoch().count(); }

std::uint64_t number(SQLite::Database& database, const char* sql) {
  return to_unsigned(database.execAndGet(sql).getInt64());
}

std::uint64_t change(SQLite::Database& database, const char* sql, std::optional<std::int64_t> value) {
  SQLite::Statement statement(database, sql);
  if (value) statement.bind(1, *value);
  return static_cast<std::uint64_t>(statement.exec());
}

void drop_orphans(SQLite::Database& database) {
  database.exec("DELETE FROM signature_pieces WHERE signature NOT IN (SELECT id FROM signatures)");
  database.exec("DELETE FROM spaces WHERE id NOT IN (SELECT DISTINCT space FROM digests)");
}

// Needs as much free space again, and nobody else in the file. Without that it stays as large as it is, and its pages
// are used again: no failure.
void give_back(SQLite::Database& database) {
  if (database.tryExec("VACUUM") == SQLITE_OK) database.tryExec("PRAGMA wal_checkpoint(TRUNCATE)");
}

std::uint64_t drop_digests(SQLite::Database& database, const PruneLimits& limits, std::int64_t today) {
  std::uint64_t dropped = change(database, "DELETE FROM digests WHERE seen_day < ?", today - limits.unseen_for.count());
  const std::uint64_t left = number(database, "SELECT COUNT(*) FROM digests");
  const std::uint64_t allowed = limits.digest_bytes / k_digest_row_bytes;
  if (left <= allowed) return dropped;
  return dropped + change(database,
                          "DELETE FROM digests WHERE (space, inode) IN"
                          " (SELECT space, inode FROM digests ORDER BY seen_day LIMIT ?)",
                          to_signed(left - allowed));
}

Pruned drop_old(Connection& connection, const PruneLimits& limits, WallTime now) {
  SQLite::Database& database = connection.database();
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  Pruned dropped;
  dropped.digests = drop_digests(database, limits, day_of(now));
  const std::chrono::nanoseconds oldest = now.time_since_epoch() - limits.unseen_for;
  dropped.signatures = change(database, "DELETE FROM signatures WHERE used_ns < ?", oldest.count());
  dropped.bare_directories =
      drop_bare_directories(connection, day_of(now) - limits.unseen_for.count(), limits.bare_directories);
  drop_orphans(database);
  change(database, "INSERT OR REPLACE INTO upkeep(id, pruned_day) VALUES(1, ?)", day_of(now));
  transaction.commit();
  return dropped;
}

}  // namespace

std::optional<ClientUse> measure(Store& store) {
  std::optional<ClientUse> use;
  store.with([&](Connection& connection) {
    SQLite::Database& database = connection.database();
    ClientUse found;
    found.sets = number(database, "SELECT COUNT(*) FROM known_sets");
    found.digests = number(database, "SELECT COUNT(*) FROM digests");
    found.signatures = number(database, "SELECT COUNT(*) FROM signatures");
    found.signature_bytes = number(database, "SELECT COALESCE(SUM(bytes), 0) FROM signatures");
    found.bare_directories = number(database, "SELECT COUNT(*) FROM bare_directories");
    found.file_bytes = number(database, "PRAGMA page_count") * number(database, "PRAGMA page_size");
    use = found;
  });
  return use;
}

std::optional<Pruned> prune(Store& store, const PruneLimits& limits, WallTime now) {
  std::optional<Pruned> pruned;
  store.with([&](Connection& connection) {
    const Pruned dropped = drop_old(connection, limits, now);
    if (dropped.digests + dropped.signatures + dropped.bare_directories > 0) give_back(connection.database());
    pruned = dropped;
  });
  return pruned;
}

std::optional<Pruned> clear(Store& store) {
  std::optional<Pruned> cleared;
  store.with([&](Connection& connection) {
    SQLite::Database& database = connection.database();
    SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
    Pruned dropped;
    dropped.digests = change(database, "DELETE FROM digests", std::nullopt);
    dropped.signatures = change(database, "DELETE FROM signatures", std::nullopt);
    dropped.bare_directories = change(database, "DELETE FROM bare_directories", std::nullopt);
    dropped.hosts =
        number(database, "SELECT COUNT(*) FROM (SELECT host FROM hosts UNION SELECT host FROM host_orders)");
    database.exec("DELETE FROM hosts");
    database.exec("DELETE FROM host_orders");
    drop_orphans(database);
    transaction.commit();
    give_back(database);
    cleared = dropped;
  });
  return cleared;
}

void tend(Store& store, WallTime now) {
  bool due = false;
  store.with([&](Connection& connection) {
    SQLite::Statement query(connection.database(), "SELECT pruned_day FROM upkeep");
    const std::int64_t today = day_of(now);
    const std::int64_t last = query.executeStep() ? query.getColumn(0).getInt64() : 0;
    due = last + k_days_between <= today || last > today;  // the clock was far ahead once
  });
  // The space stays the file's: giving it back keeps every other run out for as long as the whole file takes to copy.
  if (due) store.with([&](Connection& connection) { drop_old(connection, {}, now); });
}

}  // namespace nb::cache
