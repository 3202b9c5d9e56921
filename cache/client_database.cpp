// SPDX-License-Identifier: Apache-2.0
#include "cache/client_database.hpp"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <optional>

#include "base/fd.hpp"
#include "cache/client_path.hpp"

namespace nb::cache {
namespace {

constexpr int k_busy_ms = 5000;
constexpr int k_most_damaged_copies = 1000;

// Step i brings version i to i + 1.
constexpr std::array<const char*, k_client_schema_version> k_migrations{
    R"sql(
CREATE TABLE known_sets(
  destination TEXT NOT NULL, source TEXT NOT NULL,
  uuid BLOB, generation INTEGER NOT NULL DEFAULT 0,
  last_push_ns INTEGER NOT NULL DEFAULT 0, last_exit INTEGER NOT NULL DEFAULT 0,
  bytes INTEGER NOT NULL DEFAULT 0, files INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY(destination, source)) WITHOUT ROWID;
CREATE TABLE mounts(
  destination TEXT NOT NULL, source TEXT NOT NULL, path TEXT NOT NULL,
  PRIMARY KEY(destination, source, path)) WITHOUT ROWID;
)sql"};

int schema_version(SQLite::Database& database) { return database.execAndGet("PRAGMA user_version").getInt(); }

// Inside one write transaction, and looking again there: two new processes may arrive at once.
void migrate(SQLite::Database& database) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  for (int version = schema_version(database); version < k_client_schema_version; ++version) {
    database.exec(k_migrations.at(static_cast<std::size_t>(version)));
    database.exec("PRAGMA user_version = " + std::to_string(version + 1));
  }
  transaction.commit();
}

std::optional<std::string> free_damaged_name(const std::string& path) {
  for (int number = 1; number <= k_most_damaged_copies; ++number) {
    std::string name = path + ".damaged-" + std::to_string(number);
    struct stat st {};
    if (::lstat(name.c_str(), &st) != 0 && errno == ENOENT) return name;
  }
  return std::nullopt;
}

Result<std::string> set_aside(const std::string& path) {
  const auto aside = free_damaged_name(path);
  if (!aside) return fail(Errc::exists, path + ".damaged-N");
  if (::rename(path.c_str(), aside->c_str()) != 0) return fail_errno("rename " + path);
  // A journal that stayed behind would be replayed into the new file.
  for (const char* suffix : {"-wal", "-shm"}) {
    if (::rename((path + suffix).c_str(), (*aside + suffix).c_str()) != 0 && errno != ENOENT) {
      return fail_errno("rename " + path + suffix);
    }
  }
  return *aside;
}

Result<Fd> lock_beside(const std::string& path) {
  const std::string lock_path = path + ".lock";
  NB_TRY(prepare_private_file(lock_path));
  Fd lock(::open(lock_path.c_str(), O_RDWR | O_CLOEXEC));
  if (!lock.valid()) return fail_errno("open " + lock_path);
  if (::flock(lock.get(), LOCK_EX) != 0) return fail_errno("lock " + lock_path);
  return lock;
}

Result<std::unique_ptr<SQLite::Database>> open_file(const std::string& path, Suspicion suspicion) {
  NB_TRY(prepare_private_file(path));
  auto database = std::make_unique<SQLite::Database>(path, SQLite::OPEN_READWRITE, k_busy_ms);
  const int version = schema_version(*database);
  if (version < 0 || version > k_client_schema_version) {
    return fail(Errc::unsupported, path + " was written by a newer nbackup (schema " + std::to_string(version) + ")");
  }
  if (suspicion == Suspicion::damaged && database->execAndGet("PRAGMA quick_check(1)").getString() != "ok") {
    throw SQLite::Exception("quick_check found damage", SQLITE_CORRUPT);
  }
  database->exec("PRAGMA journal_mode = WAL");
  database->exec("PRAGMA synchronous = NORMAL");
  if (version < k_client_schema_version) migrate(*database);
  // Touches the tables, so that a foreign schema shows now and not in the middle of a run.
  database->exec("SELECT uuid, generation, last_push_ns, last_exit, bytes, files FROM known_sets LIMIT 1");
  database->exec("SELECT path FROM mounts LIMIT 1");
  return database;
}

}  // namespace

bool means_damage(const SQLite::Exception& error) {
  const int code = error.getErrorCode() & 0xFF;
  // SQLITE_ERROR covers a schema that is not ours ("no such table"), which a rebuilt file cures as well.
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
}

Result<OpenedDatabase> open_client_database(const std::string& path, Suspicion suspicion) {
  NB_TRY_ASSIGN(const Fd lock, lock_beside(path));
  OpenedDatabase opened;
  try {
    NB_TRY_ASSIGN(opened.database, open_file(path, suspicion));
    return opened;
  } catch (const SQLite::Exception& error) {
    if (!means_damage(error)) throw;
  }
  NB_TRY_ASSIGN(opened.set_aside, set_aside(path));
  NB_TRY_ASSIGN(opened.database, open_file(path, Suspicion::none));
  return opened;
}

}  // namespace nb::cache
