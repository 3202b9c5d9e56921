// SPDX-License-Identifier: Apache-2.0
#include "cache/client_path.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace nb::cache {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<std::string> home_directory() {
  if (std::string home = environment("HOME"); !home.empty()) return home;
  std::array<char, 16384> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  if (error != 0) return fail_errno("home directory", error);
  if (found == nullptr) return fail(Errc::not_found, "home directory");
  return std::string(entry.pw_dir);
}

}  // namespace

Result<std::string> default_client_state_path() {
  if (std::string path = environment("NBACKUP_CACHE"); !path.empty()) return path;
  const std::string xdg = environment("XDG_CACHE_HOME");
  if (!xdg.empty() && xdg.front() == '/') return xdg + "/nbackup/cache.db";
  NB_TRY_ASSIGN(const std::string home, home_directory());
  return home + "/.cache/nbackup/cache.db";
}

}  // namespace nb::cache
