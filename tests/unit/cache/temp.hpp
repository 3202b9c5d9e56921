// SPDX-License-Identifier: Apache-2.0
// What the tests of cache/ share: a directory of their own, warnings collected, a clock that they set.
#pragma once

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "cache/client_store.hpp"
#include "hash/digest.hpp"

namespace nb::cache_test {

namespace files = std::filesystem;

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern = (files::temp_directory_path() / "nb-cache-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    m_path = pattern;
  }
  ~TempDirectory() {
    std::error_code ignored;
    files::remove_all(m_path, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  [[nodiscard]] const std::string& path() const { return m_path; }
  [[nodiscard]] std::string file(const std::string& name) const { return m_path + "/" + name; }

 private:
  std::string m_path;
};

struct Warnings {
  std::vector<std::string> texts;
  cache::Warn sink() {
    return [this](const std::string& text) { texts.push_back(text); };
  }
};

class FixedClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return now; }
  [[nodiscard]] SteadyTime steady() const override { return SteadyTime(now.time_since_epoch()); }
  void pause(std::chrono::milliseconds duration) override { now += duration; }
  WallTime now{std::chrono::seconds(1'700'000'000)};
};

// A client's store in a file of its own.
struct ClientStore {
  TempDirectory temp;
  Warnings warnings;
  FixedClock clock;
  std::string path = temp.file("cache.db");
  std::shared_ptr<cache::Store> store = cache::open_client_store(path, warnings.sink());

  void reopen() {
    store.reset();
    store = cache::open_client_store(path, warnings.sink());
  }
};

inline hash::Digest digest_number(std::uint64_t number) {
  hash::Digest digest;
  for (std::size_t i = 0; i < 8; ++i) digest.bytes[i] = static_cast<std::byte>(number >> (8 * i));
  digest.bytes[15] = std::byte{1};
  return digest;
}

inline void write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content;
  REQUIRE(out.good());
}

inline unsigned mode_of(const std::string& path) {
  struct stat st {};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return st.st_mode & 07777;
}

}  // namespace nb::cache_test
