// SPDX-License-Identifier: Apache-2.0
#include "cache/private_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace nb::cache {
namespace {

Status make_directories_above(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno("mkdir " + directory);
  }
  return {};
}

}  // namespace

Result<Fd> open_private_file(const std::string& path, PathRule rule) {
  if (rule == PathRule::user) NB_TRY(make_directories_above(path));
  const int links = rule == PathRule::exact ? O_NOFOLLOW : 0;
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | links, 0600));
  if (!file.valid() && errno == ELOOP) return fail(Errc::path, path + " is a symlink", ELOOP);
  if (!file.valid()) return fail_errno("open " + path);
  struct stat st {};
  if (::fstat(file.get(), &st) != 0) return fail_errno("stat " + path);
  if (!S_ISREG(st.st_mode)) return fail(Errc::path, path + " is not a regular file");
  if ((st.st_mode & 07777) != 0600 && ::fchmod(file.get(), 0600) != 0) return fail_errno("chmod " + path);
  return file;
}

}  // namespace nb::cache
