// SPDX-License-Identifier: Apache-2.0
// A real directory for one test, removed with everything in it at the end.
#pragma once

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "fs/metadata.hpp"
#include "fs/posix_directory.hpp"

namespace nb::txn::test {

class Scratch {
 public:
  Scratch() {
    const char* base = std::getenv("TMPDIR");
    std::string text = std::string(base == nullptr ? "/tmp" : base) + "/nb-txn-XXXXXX";
    REQUIRE(::mkdtemp(text.data()) != nullptr);
    m_path = std::filesystem::canonical(text).string();
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    const std::filesystem::path path(m_path);
    const auto parent = fs::open_user_directory(path.parent_path().string());
    if (parent) static_cast<void>(fs::remove_tree(**parent, path.filename().string()));
  }

  [[nodiscard]] const std::string& path() const { return m_path; }
  [[nodiscard]] std::unique_ptr<fs::Directory> root() const { return fs::open_user_directory(m_path).value(); }

 private:
  std::string m_path;
};

}  // namespace nb::txn::test
