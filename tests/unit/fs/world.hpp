// SPDX-License-Identifier: Apache-2.0
// The two worlds that the contract suite runs in, and short ways to use a Directory in tests.
#pragma once

#include <sched.h>
#include <sys/mount.h>
#include <catch2/catch.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fs/posix_directory.hpp"
#include "fs/sim_directory.hpp"
#include "support/temp_dir.hpp"

namespace nb::fs::test {

// The value of a result that must be good.
template <class T>
T good(Result<T> result) {
  if (!result) FAIL(result.error().message());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// The code of a result that must be bad.
template <class T>
Errc code(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  return result.error().code;
}

inline RelPath rel(std::string_view text) { return good(RelPath::parse(text)); }

inline std::string read_all(File& file) {
  std::string text(static_cast<std::size_t>(good(file.stat()).size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const std::size_t got = good(file.read_at(done, std::as_writable_bytes(std::span(text).subspan(done))));
    if (got == 0) break;
    done += got;
  }
  text.resize(done);
  return text;
}

inline std::string read(const Directory& in, std::string_view name) {
  return read_all(*good(in.open_file(name, OpenMode::read)));
}

inline std::unique_ptr<File> write(Directory& in, std::string_view name, std::string_view text) {
  std::unique_ptr<File> file = good(in.create_file(name));
  good(file->write_at(0, as_bytes(text)));
  return file;
}

inline std::vector<std::string> names(const Directory& in) {
  std::vector<std::string> all;
  for (const NamedType& entry : good(in.list())) all.push_back(entry.name);
  return all;
}

using Names = std::vector<std::string>;

class PosixWorld {
 public:
  Directory& root() { return *m_root; }
  // Makes this directory of the root another mount of the same file system, and opens the root anew, because a handle
  // from before does not see it; false where this process may not.
  bool bind(const std::string& name) {
    const std::string path = m_temp.path(name);
    if (::unshare(CLONE_NEWNS) != 0) return false;
    if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
    if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
    m_bound.push_back(path);
    m_root = good(open_user_directory(m_temp.path()));
    return true;
  }
  ~PosixWorld() {
    for (const std::string& path : m_bound) ::umount2(path.c_str(), MNT_DETACH);
  }

 private:
  std::vector<std::string> m_bound;
  nb::test::TempDir m_temp;
  std::unique_ptr<Directory> m_root = good(open_user_directory(m_temp.path()));
};

class SimWorld {
 public:
  Directory& root() { return *m_root; }
  bool bind(const std::string& name) {
    m_fs.bind(name);
    return true;
  }

 private:
  SimFileSystem m_fs;
  std::unique_ptr<Directory> m_root = m_fs.root();
};

}  // namespace nb::fs::test
