// SPDX-License-Identifier: Apache-2.0
#include "cli/version.hpp"

#include <fmt/format.h>
#include <libssh/libssh.h>
#include <sqlite3.h>
#include <xxhash.h>
#include <zstd.h>

#include "transport/libssh_stream.hpp"
#include "wire/limits.hpp"

namespace nb::cli {
namespace {

// How large the channel window may be is told by the headers of our build alone.
std::string libssh_text() {
#ifdef LIBSSH_CHANNEL_WINDOW_MAX
  const std::string window = fmt::format("{} to {} MiB", LIBSSH_CHANNEL_WINDOW >> 20, LIBSSH_CHANNEL_WINDOW_MAX >> 20);
#else
  const std::string window = "libssh's own";
#endif
  const auto known = [](const std::vector<std::string>& names, std::string_view name) {
    return ssh::has(names, name) ? "yes" : "no";
  };
  const ssh::AlgorithmNames& names = transport::libssh_algorithms();
  return fmt::format("libssh {} (cipher none: {}, MAC umac: {}, channel window: {})", ::ssh_version(0),
                     known(names.ciphers, ssh::k_none), known(names.macs, "umac-64-etm@openssh.com"), window);
}

}  // namespace

std::string version_text() {
  const unsigned xxhash = XXH_versionNumber();
  return fmt::format(
      "nbackup {}\n"
      "protocol {} to {}\n"
      "{}\n"
      "SQLite {}\n"
      "xxHash {}.{}.{}\n"
      "zstd {}\n",
      k_version, wire::k_version_min, wire::k_version_max, libssh_text(), ::sqlite3_libversion(), xxhash / 10000,
      xxhash / 100 % 100, xxhash % 100, ::ZSTD_versionString());
}

}  // namespace nb::cli
