// SPDX-License-Identifier: Apache-2.0
// Opening the client's SQLite file: private, in WAL mode, its schema brought up to date step by step, a damaged file set
// aside. The only user is client_state.cpp. Other exceptions of SQLite are caught there.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace nb::cache {

// The schema that this program writes; PRAGMA user_version. Never renumber: each step is one migration.
inline constexpr int k_client_schema_version = 1;

// Whether the exception says that the file itself is bad, as opposed to busy, full or not permitted.
bool means_damage(const SQLite::Exception& error);

enum class Suspicion : std::uint8_t {
  none,     // looks at the header and the schema, which costs nothing
  damaged,  // a query met damage: the whole file is checked first
};

struct OpenedDatabase {
  std::unique_ptr<SQLite::Database> database;
  std::string set_aside;  // where a damaged file went: "<path>.damaged-N" (with its -wal and -shm); empty if it was good
};

// One process at a time, under a lock beside the file: two that see the same damage would otherwise set aside what the
// first has just rebuilt. Throws SQLite::Exception for what is not damage. A file of a newer schema is
// Errc::unsupported and left alone. No database may be open on the file in this thread.
Result<OpenedDatabase> open_client_database(const std::string& path, Suspicion suspicion);

}  // namespace nb::cache
