// SPDX-License-Identifier: Apache-2.0
#include "cache/client_path.hpp"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "base/fd.hpp"

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

Status make_directories_above(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno("mkdir " + directory);
  }
  return {};
}

}  // namespace

Result<std::string> default_client_state_path() {
  if (std::string path = environment("NBACKUP_CACHE"); !path.empty()) return path;
  const std::string xdg = environment("XDG_CACHE_HOME");
  if (!xdg.empty() && xdg.front() == '/') return xdg + "/nbackup/cache.db";
  NB_TRY_ASSIGN(const std::string home, home_directory());
  return home + "/.cache/nbackup/cache.db";
}

Status prepare_private_file(const std::string& path) {
  NB_TRY(make_directories_above(path));
  const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600));
  if (!file.valid()) return fail_errno("open " + path);
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return fail_errno("stat " + path);
  if (!S_ISREG(st.st_mode)) return fail(Errc::path, path + " is not a regular file");
  if ((st.st_mode & 07777) != 0600 && ::fchmod(file.get(), 0600) != 0) return fail_errno("chmod " + path);
  return {};
}

}  // namespace nb::cache
