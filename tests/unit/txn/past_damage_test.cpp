// SPDX-License-Identifier: Apache-2.0
// What a view of the past says when somebody took away or damaged what it needs. A restore must name what it cannot
// give back: every such name is listed, and cannot be read.
#include <algorithm>
#include <array>

#include "fs/metadata.hpp"
#include "past_world.hpp"
#include "txn/past_tree.hpp"

namespace nb::txn::test {
namespace {

using fs::FileType;
using fs::test::names;
using fs::test::Names;
using fs::test::PosixWorld;
using fs::test::SimWorld;

template <class World>
struct Fixture {
  World world;
  PastSet set{world.root()};

  // Two generations, of which the newer keeps `a`.
  void keep_one() {
    set.file("a", "1");
    set.base(1);
    set.keep(2, "a");
    set.commit(2, {kept("a")});
  }
  void check_lost(std::string_view name) {
    const auto past = set.past(1);
    const Names all = names(*past);
    CHECK(std::find(all.begin(), all.end(), name) != all.end());
    CHECK(code(past->stat_at(name)) == Errc::unreadable);
    CHECK(code(past->open_node(name)) == Errc::unreadable);
    CHECK(code(past->xattrs_at(name)) == Errc::unreadable);
    CHECK(code(past->open_directory(name)) == Errc::unreadable);
    CHECK(code(past->open_directory_path(rel(name).child("below"))) == Errc::unreadable);
  }
  void damage(std::uint64_t number, std::string_view name) {
    const auto file = good(set.directory_of(number)->open_file(name, fs::OpenMode::read_write));
    std::array<std::byte, 1> last{};
    const std::uint64_t at = good(file->stat()).size - 1;
    REQUIRE(good(file->read_at(at, last)) == 1);
    last[0] ^= std::byte{1};
    good(file->write_at(at, last));
  }
  void check_bad(std::string_view what) {
    const auto past = open_past(set.set(), 1);
    REQUIRE_FALSE(past.has_value());
    CHECK(past.error().code == Errc::bad_set);
    CHECK_THAT(past.error().message(), Catch::Contains(std::string(what)));
  }
};

}  // namespace

TEMPLATE_TEST_CASE("past: a kept file that is gone", "[txn][past]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  at.keep_one();
  good(at.set.files(2)->remove_file("a"));
  at.check_lost("a");
  const auto stat = at.set.past(1)->stat_at("a");
  CHECK_THAT(stat.error().message(), Catch::Contains("a: somebody took it away from history/2/files"));
  CHECK(code(at.set.past(1)->open_file("a", fs::OpenMode::read)) == Errc::unreadable);
}

TEMPLATE_TEST_CASE("past: all kept files are gone", "[txn][past]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  at.keep_one();
  good(fs::remove_tree(*at.set.directory_of(2), k_files_name));
  at.check_lost("a");
}

TEMPLATE_TEST_CASE("past: the directory around a kept file is gone", "[txn][past]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  PastSet& set = at.set;
  set.file("d/e/a", "1");
  set.base(1);
  set.keep(2, "d/e/a");
  set.commit(2, {kept("d/e/a")});
  SECTION("in history") {
    good(fs::remove_tree(*set.files(2), "d"));
    const auto below = good(set.past(1)->open_directory_path(rel("d/e")));
    CHECK(names(*below) == Names{"a"});
    CHECK(code(below->stat_at("a")) == Errc::unreadable);
  }
  SECTION("in the live tree") {
    set.remove("d");
    at.check_lost("d");
    CHECK(good(set.past(1)->list()).back().type == FileType::directory);
  }
  SECTION("in the live tree, with a file in its place") {
    set.remove("d");
    set.file("d", "somebody's");
    at.check_lost("d");
  }
}

TEMPLATE_TEST_CASE("past: what was never kept", "[txn][past]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  PastSet& set = at.set;
  set.file("a", "1");
  set.base(1);
  set.commit(2, {lost("a"), lost("b")});
  at.check_lost("a");
  at.check_lost("b");
  CHECK(fs::test::read(*set.past(2), "a") == "1");
}

TEMPLATE_TEST_CASE("past: old metadata of what is gone", "[txn][past]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  PastSet& set = at.set;
  set.base(1);
  set.commit(2, {old_metadata("a", 0600), old_of_all_names("b", 0600)});
  at.check_lost("a");
  at.check_lost("b");
}

TEMPLATE_TEST_CASE("past: the way back is broken", "[txn][past]", SimWorld, PosixWorld) {
  Fixture<TestType> at;
  at.keep_one();
  PastSet& set = at.set;
  SECTION("no list") {
    good(set.directory_of(2)->remove_file(k_changes_name));
    at.check_bad("history/2");
  }
  SECTION("a damaged list") {
    at.damage(2, k_changes_name);
    at.check_bad("history/2");
  }
  SECTION("the list of another") {
    set.commit(3, {}, 2);
    const auto two = set.directory_of(2);
    good(two->remove_file(k_changes_name));
    good(set.directory_of(3)->link(k_changes_name, *two, k_changes_name));
    at.check_bad("history/2");
  }
  SECTION("no account") {
    good(set.directory_of(2)->remove_file(k_generation_name));
    at.check_bad("history/2");
  }
  SECTION("a damaged account") {
    at.damage(2, k_generation_name);
    at.check_bad("history/2");
  }
  SECTION("the newest is gone") {
    set.commit(3, {}, 2);
    good(fs::remove_tree(*good(set.set().control().open_directory(k_history_name)), "3"));
    at.check_bad("history/3");
  }
  SECTION("it leads past what is asked for") {
    set.commit(3, {}, 0);
    at.check_bad("history/3: does not lead back to generation 1");
  }
  SECTION("an older one that is not needed") {
    set.commit(3, {}, 2);
    at.damage(2, k_changes_name);
    CHECK(names(*set.past(2)) == Names{".nbackup"});
  }
}

}  // namespace nb::txn::test
