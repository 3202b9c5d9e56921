// SPDX-License-Identifier: Apache-2.0
// How full the file system of a set may become. Any thread may call.
#pragma once

#include "base/result.hpp"
#include "fs/directory.hpp"

namespace nb::txn {

// Bytes that must stay free: for the journal, and so that applying it never meets a full disk. 64 MiB, or 2 % of a small
// file system.
std::uint64_t space_reserve(const fs::Space& space);
// Whether that much, and inodes for what a transaction needs itself, are free.
bool has_room(const fs::Space& space);

}  // namespace nb::txn
