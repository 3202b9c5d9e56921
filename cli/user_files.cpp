// SPDX-License-Identifier: Apache-2.0
#include "cli/user_files.hpp"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace nb::cli {
namespace {

constexpr const char* k_config_variable = "NBACKUP_CONFIG";

struct Place {
  const char* named;       // the variable that has the whole path
  const char* base;        // that has the directory
  const char* below_home;  // the directory where neither is set
  const char* name;
};

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<std::string> find(const Place& place) {
  if (std::string path = environment(place.named); !path.empty()) return path;
  const std::string base = environment(place.base);
  if (base.starts_with('/')) return base + place.name;
  NB_TRY_ASSIGN(const std::string home, home_directory());
  return home + place.below_home + place.name;
}

}  // namespace

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

Result<std::string> memory_path() { return find({"NBACKUP_CACHE", "XDG_CACHE_HOME", "/.cache", "/nbackup/cache.db"}); }

bool config_is_named() { return !environment(k_config_variable).empty(); }

Result<std::string> config_path() {
  return find({k_config_variable, "XDG_CONFIG_HOME", "/.config", "/nbackup/config"});
}

}  // namespace nb::cli
