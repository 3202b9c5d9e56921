// SPDX-License-Identifier: Apache-2.0
#include "cli/version.hpp"

#include <fmt/format.h>
#include <libssh/libssh.h>
#include <sqlite3.h>
#include <xxhash.h>
#include <zstd.h>

#include "wire/limits.hpp"

namespace nb::cli {

std::string version_text() {
  const unsigned xxhash = XXH_versionNumber();
  return fmt::format(
      "nbackup {}\n"
      "protocol {} to {}\n"
      "libssh {}\n"
      "SQLite {}\n"
      "xxHash {}.{}.{}\n"
      "zstd {}\n",
      k_version, wire::k_version_min, wire::k_version_max, ::ssh_version(0), ::sqlite3_libversion(), xxhash / 10000,
      xxhash / 100 % 100, xxhash % 100, ::ZSTD_versionString());
}

}  // namespace nb::cli
