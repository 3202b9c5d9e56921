// SPDX-License-Identifier: Apache-2.0
// Mounted: a fresh file system in an image, for as long as the object lives. Only root mounts, and the programs that
// make file systems may be missing: then it is not ok(), and has told why.
#pragma once

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include "support/temp_dir.hpp"

namespace nb::test {

class Mounted {
 public:
  // `make` is a command that takes the image as its last argument; `options` are mount's.
  explicit Mounted(const std::string& make, const std::string& options = "loop") {
    const std::string failed = mount_with(make, options);
    m_mounted = failed.empty();
    if (!m_mounted) WARN("skipped: " + failed);
  }
  Mounted(const Mounted&) = delete;
  Mounted& operator=(const Mounted&) = delete;
  ~Mounted() {
    if (m_mounted) run("umount " + path());
  }
  [[nodiscard]] bool ok() const { return m_mounted; }
  [[nodiscard]] std::string path() const { return m_temp.path("mnt"); }

 private:
  static bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

  // What went wrong; empty if nothing did.
  std::string mount_with(const std::string& make, const std::string& options) {
    if (::geteuid() != 0) return "not root";
    if (!run("truncate -s 512M " + image())) return "no image";
    if (!run(make + " " + image())) return make + " failed";
    const bool done = run("mkdir " + path() + " && mount -o " + options + " " + image() + " " + path());
    return done ? "" : "mount -o " + options + " failed";
  }
  [[nodiscard]] std::string image() const { return m_temp.path("image"); }
  TempDir m_temp;
  bool m_mounted = false;
};

}  // namespace nb::test
