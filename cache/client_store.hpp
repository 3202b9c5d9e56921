// SPDX-License-Identifier: Apache-2.0
// The client's file, cache.db: its schema and how to open it. ClientState, ClientHosts, SetReports, HashCache,
// SignatureMemory and BareDirectories keep their tables in it and share one Store.
#pragma once

#include <memory>
#include <string>

#include "cache/store.hpp"

namespace nb::cache {

// The schema that this program writes; PRAGMA user_version. Never renumber: each step is one migration.
// 1: known sets and mounts. 2: digests and signatures. 3: bare directories. 4: hosts. 5: host_orders. 6: set_reports and
// outcomes.
inline constexpr int k_client_schema_version = 6;

// Opens or makes the file. Never null.
std::shared_ptr<Store> open_client_store(std::string path, Warn warn);

}  // namespace nb::cache
