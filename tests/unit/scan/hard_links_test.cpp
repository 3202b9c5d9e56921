// SPDX-License-Identifier: Apache-2.0
// A limit on memory changes where records lie, and nothing else.
#include "scan/hard_links.hpp"

#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>

namespace nb::scan::test {
namespace {

fs::Stat inode(std::uint64_t number, std::uint64_t device = 1) {
  fs::Stat stat;
  stat.links = 2;
  stat.inode = number;
  stat.device = device;
  return stat;
}

RelPath path(const std::string& text) { return RelPath::parse(text).value(); }

// Names from one byte to long paths, so that records do not all look the same.
RelPath name_of(std::mt19937_64& random, int step) {
  std::string text = "d" + std::to_string(step);
  for (std::size_t i = random() % 20; i > 0 && random() % 4 == 0; --i) text += "/" + std::string(200, 'x');
  return path(text);
}

std::uint64_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

class Environment {
 public:
  Environment(const char* name, const char* value) : m_name(name) {
    if (const char* old = std::getenv(name)) m_old = old;
    ::setenv(name, value, 1);
  }
  ~Environment() { m_old ? ::setenv(m_name, m_old->c_str(), 1) : ::unsetenv(m_name); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* m_name;
  std::optional<std::string> m_old;
};

}  // namespace

TEST_CASE("hard links: the first name is found whatever the limit", "[scan][hard_links]") {
  const std::size_t limit = GENERATE(0U, 1U, 500U, 20'000U);
  HardLinks bounded(limit);
  HardLinks whole(std::size_t{1} << 40);
  std::mt19937_64 random(limit + 7);
  for (int step = 0; step < 30'000; ++step) {
    const fs::Stat stat = inode(random() % 8'000, random() % 3);
    const RelPath name = name_of(random, step);
    const auto expected = whole.first_of(stat, name).value();
    REQUIRE(bounded.first_of(stat, name).value() == expected);
    // The same directory read again.
    REQUIRE(bounded.first_of(stat, name).value() == expected);
  }
}

TEST_CASE("hard links: the longest path is found again", "[scan][hard_links]") {
  std::string text;
  while (text.size() + 256 <= k_max_path_bytes) text += std::string(255, 'n') + "/";
  const RelPath longest = path(text + std::string(k_max_path_bytes - text.size(), 'e'));
  HardLinks links(0);
  CHECK_FALSE(links.first_of(inode(1), longest).value());
  CHECK(links.first_of(inode(1), path("b")).value() == longest);
  CHECK_FALSE(links.first_of(inode(2), path("c")).value());
  CHECK(links.first_of(inode(2), path("d")).value() == path("c"));
}

TEST_CASE("hard links: without a place for a temporary file, another is used", "[scan][hard_links]") {
  const Environment nowhere("TMPDIR", "/nonexistent");
  HardLinks links(0);
  CHECK_FALSE(links.first_of(inode(1), path("a")).value());
  CHECK(links.first_of(inode(1), path("b")).value() == path("a"));
}

// A sanitizer keeps what was freed.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_CASE("hard links: memory stays within the limit", "[scan][hard_links]") {
  constexpr std::uint64_t k_inodes = 400'000;
  constexpr std::size_t k_limit = std::size_t{8} << 20;
  constexpr std::uint64_t k_index_and_slack = std::uint64_t{16} << 20;
  const std::uint64_t before = resident_bytes();
  HardLinks links(k_limit);
  for (std::uint64_t i = 0; i < k_inodes; ++i) {
    const RelPath name = path("some/directory/of/the/first/name/" + std::to_string(i));
    REQUIRE_FALSE(links.first_of(inode(i), name).value());
  }
  CHECK(resident_bytes() - before < k_limit + k_index_and_slack);
}
#endif

// By hand: unit_scan "[.speed]" prints what two million inodes with two names take.
TEST_CASE("hard links: two million inodes", "[.speed]") {
  constexpr std::uint64_t k_inodes = 2'000'000;
  for (const std::size_t limit : {k_hard_link_bytes, std::size_t{1} << 40}) {
    const std::uint64_t before = resident_bytes();
    const auto began = std::chrono::steady_clock::now();
    HardLinks links(limit);
    std::uint64_t found = 0;
    for (const std::string tree : {"first", "second"}) {
      for (std::uint64_t i = 0; i < k_inodes; ++i) {
        const RelPath name = path("data/" + tree + "/" + std::to_string(i / 1000) + "/file-" + std::to_string(i));
        found += links.first_of(inode(i), name).value() ? 1 : 0;
      }
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    CHECK(found == k_inodes);
    std::cout << "limit " << (limit >> 20) << " MiB: " << ((resident_bytes() - before) >> 20) << " MiB resident, "
              << took.count() << " s\n";
  }
}

}  // namespace nb::scan::test
