// SPDX-License-Identifier: Apache-2.0
// Looking after the client's file: how much is in it, and taking away what is old. Digests, signatures and bare
// directories, and hosts where all is cleared; what is known of sets and mount points arms guards and stays (`status
// --forget` takes it away). Used by cli/.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.hpp"
#include "cache/bare_directories.hpp"
#include "cache/store.hpp"

namespace nb::cache {

struct ClientUse {
  std::uint64_t sets = 0;              // known sets
  std::uint64_t digests = 0;           // rows
  std::uint64_t signatures = 0;        // files
  std::uint64_t signature_bytes = 0;   // of their pieces
  std::uint64_t bare_directories = 0;  // rows
  std::uint64_t file_bytes = 0;        // of the database, without its journal
};

struct PruneLimits {
  std::chrono::days unseen_for{90};                     // not met in any run for longer
  std::uint64_t digest_bytes = std::uint64_t{1} << 30;  // about 10 million files
  std::uint64_t bare_directories = BareLimits{}.rows;
};

struct Pruned {
  std::uint64_t digests = 0;
  std::uint64_t signatures = 0;
  std::uint64_t bare_directories = 0;
  std::uint64_t hosts = 0;  // with the orders of algorithms that were measured for them; by clear() only
};

// Each returns nothing if there is no store.
std::optional<ClientUse> measure(Store& store);
// What was not used for `unseen_for`, then the digests seen longest ago until the rest fits; gives the space back.
std::optional<Pruned> prune(Store& store, const PruneLimits& limits, WallTime now);
// All digests, signatures, bare directories and hosts.
std::optional<Pruned> clear(Store& store);
// At the end of a run: drops what is beyond the usual limits if that was not done for a week. The file stays as large
// as it is, and its room is used again.
void tend(Store& store, WallTime now);

}  // namespace nb::cache
