// SPDX-License-Identifier: Apache-2.0
// Which metadata an earlier generation shows, where paths and inodes have had several.
#include "past_world.hpp"

namespace nb::txn::test {
namespace {

using fs::FileType;
using fs::test::PosixWorld;
using fs::test::SimWorld;

}  // namespace

TEMPLATE_TEST_CASE("past: old metadata", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.directory("d");
  set.file("d/a", "1");
  set.file("d/b", "1");
  set.base(1);
  set.commit(2, {old_metadata("", 0711, 11), old_metadata("d", 0700, 12), old_metadata("d/a", 0600, 13)});
  set.commit(3, {old_metadata("d/a", 0640, 14)});
  set.keep(4, "d");
  set.commit(4, {kept("d", FileType::directory)});

  const auto past = set.past(1);
  CHECK(good(past->stat()).mode == 0711);
  CHECK(good(past->reopen()->get()->stat()).mtime == fs::Timestamp{11, 0});
  CHECK(good(past->xattrs()) == fs::Xattrs{{"user.t", "old"}});
  CHECK(at.mode(1, "d") == 0700);
  CHECK(good(good(past->open_directory("d"))->stat()).mtime == fs::Timestamp{12, 0});
  CHECK(at.mode(1, "d/a") == 0600);
  CHECK(at.mode(1, "d/b") == 0644);
  CHECK(good(good(past->open_directory("d"))->xattrs_at("a")) == fs::Xattrs{{"user.t", "old"}});
  CHECK(good(good(past->open_directory("d"))->xattrs_at("b")).empty());
  CHECK(at.mode(2, "d/a") == 0640);
  CHECK(at.mode(2, "d") == 0755);
  CHECK(at.mode(3, "d/a") == 0644);
  // The rest is the inode's.
  CHECK(good(at.parent_at(1, "d/a")->stat_at("a")).size == 1);
}

TEMPLATE_TEST_CASE("past: what is said of a path later in the list goes", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.directory("d");
  set.file("d/a", "1");
  set.base(1);
  set.keep(2, "d");
  set.file("d/a", "2");
  set.commit(2, {kept("d", FileType::directory)});
  set.commit(3, {old_metadata("d", 0700), old_metadata("d/a", 0600)});

  CHECK(at.mode(2, "d") == 0700);
  CHECK(at.mode(2, "d/a") == 0600);
  CHECK(at.mode(1, "d") == 0755);
  CHECK(at.mode(1, "d/a") == 0644);
  CHECK(at.text(1, "d/a") == "1");
}

// 1: a. 2: renamed to b. 3: b gets another name. 4: chmod. 5: b is replaced. 6: chmod of the other name.
TEMPLATE_TEST_CASE("past: an inode that changed after it was renamed", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("a", "inode");
  set.base(1);
  set.hard_link("a", "b");
  set.keep(2, "a");
  set.commit(2, {absent("b"), kept("a")});
  set.hard_link("b", "c");
  set.commit(3, {absent("c")});
  set.chmod("c", 0600);
  set.commit(4, {old_of_all_names("c", 0644)});
  set.keep(5, "b");
  set.file("b", "another");
  set.commit(5, {kept("b")});
  set.chmod("c", 0700);
  set.commit(6, {old_of_all_names("c", 0600)});

  CHECK(at.mode(6, "c") == 0700);
  CHECK(at.mode(6, "b") == 0644);
  CHECK(at.mode(5, "c") == 0600);
  CHECK(at.mode(5, "b") == 0644);
  CHECK(at.mode(4, "b") == 0600);
  CHECK(at.text(4, "b") == "inode");
  CHECK(at.mode(3, "b") == 0644);
  CHECK(at.mode(3, "c") == 0644);
  CHECK(at.mode(2, "b") == 0644);
  CHECK(at.mode(1, "a") == 0644);
  CHECK(at.text(1, "a") == "inode");
  CHECK(good(set.past(3)->stat_at("b")).inode == good(set.past(3)->stat_at("c")).inode);
}

TEMPLATE_TEST_CASE("past: of a path and of its inode the older word counts", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("a", "1");
  set.hard_link("a", "b");
  set.base(1);
  set.commit(2, {old_metadata("a", 0601)});
  set.commit(3, {old_of_all_names("b", 0602)});
  set.commit(4, {old_metadata("a", 0603)});
  CHECK(at.mode(3, "a") == 0603);
  CHECK(at.mode(3, "b") == 0644);
  CHECK(at.mode(2, "a") == 0602);
  CHECK(at.mode(2, "b") == 0602);
  CHECK(at.mode(1, "a") == 0601);
  CHECK(at.mode(1, "b") == 0602);
}

}  // namespace nb::txn::test
