// SPDX-License-Identifier: Apache-2.0
// TempDir: a fresh directory under $TMPDIR or /tmp that is gone, with all in it, when the test ends.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace nb::test {

class TempDir {
 public:
  TempDir() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/nbackup-test-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    m_path = pattern;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    open_up(m_path);
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }

  [[nodiscard]] const std::string& path() const { return m_path; }
  [[nodiscard]] std::string path(const std::string& below) const { return m_path + "/" + below; }

 private:
  // Directories that a test left without permissions would stop an ordinary user from removing them.
  static void open_up(const std::filesystem::path& directory) {
    std::error_code error;
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, std::filesystem::perm_options::add,
                                 error);
    for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
      if (entry.symlink_status(error).type() == std::filesystem::file_type::directory) open_up(entry.path());
    }
  }

  std::string m_path;
};

}  // namespace nb::test
