// SPDX-License-Identifier: Apache-2.0
#include "cli/version.hpp"

#include <fmt/format.h>
#include <libssh/libssh.h>
#include <sqlite3.h>
#include <xxhash.h>
#include <zstd.h>

#include "wire/limits.hpp"

namespace nb::cli {
namespace {

// libssh has no call that lists what it knows, but refuses the name of what it does not.
bool libssh_knows(ssh_options_e option, const char* name) {
  const ssh_session session = ::ssh_new();
  if (session == nullptr) return false;
  ::ssh_set_log_level(SSH_LOG_NOLOG);
  const bool known = ::ssh_options_set(session, option, name) == SSH_OK;
  ::ssh_free(session);
  return known;
}

// The channel window is fixed when libssh is built, and told by the headers of our build alone.
std::string libssh_text() {
#ifdef LIBSSH_CHANNEL_WINDOW
  const std::string window = fmt::format("{} MiB", LIBSSH_CHANNEL_WINDOW >> 20);
#else
  const std::string window = "libssh's own";
#endif
  const auto yes_or_no = [](bool known) { return known ? "yes" : "no"; };
  return fmt::format("libssh {} (cipher none: {}, MAC umac: {}, channel window: {})", ::ssh_version(0),
                     yes_or_no(libssh_knows(SSH_OPTIONS_CIPHERS_C_S, "none")),
                     yes_or_no(libssh_knows(SSH_OPTIONS_HMAC_C_S, "umac-64-etm@openssh.com")), window);
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
