// SPDX-License-Identifier: Apache-2.0
// The names that history has of a file: all found, the newest generation first, or given up.
#include "txn/kept_names.hpp"

#include <catch2/catch.hpp>

#include "past_world.hpp"

namespace nb::txn::test {
namespace {

using Fixture = PastFixture<fs::test::SimWorld>;
constexpr std::uint64_t k_all = ~std::uint64_t{0};

fs::Stat live_stat(Fixture& at, std::string_view name) { return good(at.set.live().stat_at(name)); }

// "c" was "b" before, and "a" before that; beside it a directory was removed.
void rename_twice(Fixture& at) {
  at.set.file("a", "content");
  at.set.directory("d");
  at.set.file("d/x", "other");
  at.set.base(1);
  at.set.hard_link("a", "b");
  at.set.keep(2, "a");
  at.set.commit(2, {kept("a"), absent("b")});
  at.set.hard_link("b", "c");
  at.set.keep(3, "b");
  at.set.keep(3, "d");
  at.set.commit(3, {kept("b"), kept("d", fs::FileType::directory), absent("c")});
}

std::uint64_t missing_of(Fixture& at, const fs::Stat& stat, std::uint64_t most_names) {
  NameCounts missing{{stat.inode, stat.links - 1}};
  find_kept_names(at.set.live(), most_names, missing);
  return missing.at(stat.inode);
}

}  // namespace

TEST_CASE("the names that history has of a live file are found", "[txn][history]") {
  Fixture at;
  rename_twice(at);
  REQUIRE(live_stat(at, "c").links == 3);
  CHECK(missing_of(at, live_stat(at, "c"), k_all) == 0);
}

TEST_CASE("a name outside of history stays missing", "[txn][history]") {
  Fixture at;
  rename_twice(at);
  at.set.hard_link("c", "somebody's");
  CHECK(missing_of(at, live_stat(at, "c"), k_all) == 1);
}

TEST_CASE("names are looked at from the newest generation on, and no more than asked for", "[txn][history]") {
  Fixture at;
  rename_twice(at);
  const fs::Stat stat = live_stat(at, "c");
  CHECK(missing_of(at, stat, 1) == 2);  // generation 3 has two names at its top
  CHECK(missing_of(at, stat, 3) == 1);  // and one below
  CHECK(missing_of(at, stat, 4) == 0);
}

TEST_CASE("a set without history has no names of a file", "[txn][history]") {
  Fixture at;
  at.set.file("a", "content");
  at.set.hard_link("a", "b");
  CHECK(missing_of(at, live_stat(at, "a"), k_all) == 1);
}

}  // namespace nb::txn::test
