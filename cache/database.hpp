// SPDX-License-Identifier: Apache-2.0
// Opening one of our SQLite files: private, its journal as durable as it must be, its schema brought up to date
// step by step, a damaged file set aside. The only user is store.cpp. The files differ in their Schema alone.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"

namespace nb::cache {

enum class PathRule : std::uint8_t {
  user,   // as the user gave it: missing directories are made, symlinks followed
  exact,  // the kernel gets it as it stands and no symlink is opened: "/proc/self/fd/N/name" stays with that directory
};

enum class Durability : std::uint8_t {
  later,    // WAL: a power cut may take the last transactions, never a part of one. As at_once on network file systems
  at_once,  // a rollback journal, each commit synced; works where shared memory does not, and on read-only media
};
enum class FileAccess : std::uint8_t {
  write,
  read,  // nothing is made, brought up to date or set aside; works on media that cannot be written
};

struct Schema {
  std::span<const char* const> migrations;  // step i brings version i to i + 1; the size is the present version
  std::span<const char* const> probes;      // queries that touch every table: a foreign schema shows at once
  PathRule path_rule = PathRule::user;
  Durability durability = Durability::later;
  FileAccess access = FileAccess::write;

  [[nodiscard]] int version() const { return static_cast<int>(migrations.size()); }
};

// Whether the exception says that the file itself is bad, as opposed to busy, full or not permitted.
bool means_damage(const SQLite::Exception& error);

enum class Suspicion : std::uint8_t {
  none,     // looks at the header and the schema, which costs nothing
  damaged,  // a query met damage: the whole file is checked first
};

struct OpenedDatabase {
  std::unique_ptr<SQLite::Database> database;
  std::string set_aside;  // where a damaged file went: "<path>.damaged-N" (with -wal and -shm); empty if it was good
};

// One process at a time, under a lock beside the file: two that see the same damage would otherwise set aside what the
// first has just rebuilt. Throws SQLite::Exception for what is not damage. A file of a newer schema is
// Errc::unsupported and left alone. No database may be open on the file in this thread. `schema` is needed only during
// the call.
Result<OpenedDatabase> open_database(const std::string& path, const Schema& schema, Suspicion suspicion);

}  // namespace nb::cache
