// SPDX-License-Identifier: Apache-2.0
#include "cache/database.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/fd.hpp"
#include "cache/private_file.hpp"

namespace nb::cache {
namespace {

// Whoever writes much, or reads a large file in one state, keeps others waiting; giving up costs a run its memory.
constexpr int k_busy_ms = 60'000;
constexpr int k_most_damaged_copies = 1000;
// Each checkpoint waits for the disk: rather seldom, of a journal of 32 MiB.
constexpr int k_checkpoint_pages = 8192;

int schema_version(SQLite::Database& database) { return database.execAndGet("PRAGMA user_version").getInt(); }

// Inside one write transaction, and looking again there: two new processes may arrive at once.
void migrate(SQLite::Database& database, const Schema& schema) {
  SQLite::Transaction transaction(database, SQLite::TransactionBehavior::IMMEDIATE);
  for (int version = schema_version(database); version < schema.version(); ++version) {
    database.exec(schema.migrations[static_cast<std::size_t>(version)]);
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
  for (const char* suffix : {"-wal", "-shm", "-journal"}) {
    if (::rename((path + suffix).c_str(), (*aside + suffix).c_str()) != 0 && errno != ENOENT) {
      return fail_errno("rename " + path + suffix);
    }
  }
  return *aside;
}

Result<Fd> lock_beside(const std::string& path, PathRule rule) {
  const std::string lock_path = path + ".lock";
  NB_TRY_ASSIGN(Fd lock, open_private_file(lock_path, rule));
  if (::flock(lock.get(), LOCK_EX) != 0) return fail_errno("lock " + lock_path);
  return lock;
}

int exact_path(sqlite3_vfs*, const char* path, int size, char* out) {
  const std::size_t bytes = std::strlen(path) + 1;
  if (size < 0 || bytes > static_cast<std::size_t>(size)) return SQLITE_CANTOPEN;
  std::memcpy(out, path, bytes);
  return SQLITE_OK;
}

// SQLite's own way to files replaces symlinks in a path by what they point to, /proc/self/fd/N too, and from then on a
// renamed directory is another one: its journal would be looked for, and removed, elsewhere. This one keeps the path.
// Registered once, never changed; null where SQLite refuses it.
const char* exact_vfs() {
  static constexpr const char* k_name = "nbackup-exact";
  static const bool k_registered = [] {
    const sqlite3_vfs* usual = ::sqlite3_vfs_find(nullptr);
    if (usual == nullptr) return false;
    static sqlite3_vfs exact = *usual;
    exact.zName = k_name;
    exact.pNext = nullptr;
    exact.xFullPathname = exact_path;
    return ::sqlite3_vfs_register(&exact, 0) == SQLITE_OK;
  }();
  return k_registered ? k_name : nullptr;
}

Result<std::unique_ptr<SQLite::Database>> connect(const std::string& path, const Schema& schema) {
  if (schema.access == FileAccess::write) NB_TRY(open_private_file(path, schema.path_rule));
  const char* vfs = schema.path_rule == PathRule::exact ? exact_vfs() : "";
  if (vfs == nullptr) return fail(Errc::unsupported, path);
  // Falls back to reading by itself, and has to write where it reads after a crash.
  return std::make_unique<SQLite::Database>(path, SQLite::OPEN_READWRITE, k_busy_ms, vfs);
}

// Two machines that have a file open share no memory, and WAL needs that: each would write over what the other has.
bool may_be_shared_by_machines(const std::string& path) {
  constexpr std::array<std::uint32_t, 10> k_kinds{NFS_SUPER_MAGIC,  CIFS_SUPER_MAGIC, SMB2_SUPER_MAGIC, SMB_SUPER_MAGIC,
                                                  FUSE_SUPER_MAGIC, CEPH_SUPER_MAGIC, CODA_SUPER_MAGIC, AFS_SUPER_MAGIC,
                                                  AFS_FS_MAGIC,     V9FS_MAGIC};
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return true;
  return std::find(k_kinds.begin(), k_kinds.end(), static_cast<std::uint32_t>(info.f_type)) != k_kinds.end();
}

void choose_journal(SQLite::Database& database, const Schema& schema, const std::string& path) {
  if (schema.access == FileAccess::read) return;
  const bool ahead = schema.durability == Durability::later && !may_be_shared_by_machines(path);
  database.exec(ahead ? "PRAGMA journal_mode = WAL" : "PRAGMA journal_mode = DELETE");
  // Only WAL comes out of a power cut whole without a sync of each commit.
  database.exec(ahead ? "PRAGMA synchronous = NORMAL" : "PRAGMA synchronous = FULL");
  if (ahead) database.exec("PRAGMA wal_autocheckpoint = " + std::to_string(k_checkpoint_pages));
  // Or a long transaction would lock out readers as soon as it outgrew its cache, and not at its end.
  if (!ahead) database.exec("PRAGMA cache_spill = OFF");
}

Result<std::unique_ptr<SQLite::Database>> open_file(const std::string& path, const Schema& schema,
                                                    Suspicion suspicion) {
  NB_TRY_ASSIGN(auto database, connect(path, schema));
  const int version = schema_version(*database);
  if (version < 0 || version > schema.version()) {
    return fail(Errc::unsupported, path + " was written by a newer nbackup (schema " + std::to_string(version) + ")");
  }
  if (suspicion == Suspicion::damaged && database->execAndGet("PRAGMA integrity_check(1)").getString() != "ok") {
    throw SQLite::Exception("integrity_check found damage", SQLITE_CORRUPT);
  }
  choose_journal(*database, schema, path);
  if (version < schema.version() && schema.access == FileAccess::read) {
    return fail(Errc::unsupported, path + " is of an older nbackup until something is written to it");
  }
  if (version < schema.version()) migrate(*database, schema);
  for (const char* probe : schema.probes) database->exec(probe);
  return database;
}

}  // namespace

bool means_damage(const SQLite::Exception& error) {
  const int code = error.getErrorCode() & 0xFF;
  // SQLITE_ERROR covers a schema that is not ours ("no such table"), which a rebuilt file cures as well.
  return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_ERROR;
}

Result<OpenedDatabase> open_database(const std::string& path, const Schema& schema, Suspicion suspicion) {
  OpenedDatabase opened;
  if (schema.access == FileAccess::read) {
    NB_TRY_ASSIGN(opened.database, open_file(path, schema, suspicion));
    return opened;
  }
  NB_TRY_ASSIGN(const Fd lock, lock_beside(path, schema.path_rule));
  try {
    NB_TRY_ASSIGN(opened.database, open_file(path, schema, suspicion));
    return opened;
  } catch (const SQLite::Exception& error) {
    if (!means_damage(error)) throw;
  }
  NB_TRY_ASSIGN(opened.set_aside, set_aside(path));
  NB_TRY_ASSIGN(opened.database, open_file(path, schema, Suspicion::none));
  return opened;
}

}  // namespace nb::cache
