// SPDX-License-Identifier: Apache-2.0
// Whole transactions on a real file system.
#include <unistd.h>
#include <catch2/catch.hpp>

#include "fs/sim_directory.hpp"
#include "scratch.hpp"
#include "tree.hpp"
#include "txn/past_tree.hpp"
#include "txn/small_file.hpp"

namespace nb::txn::test {
namespace {

constexpr uid_t k_nobody = 65534;

// Acts as an ordinary user while it lives, if this process may.
class AsNobody {
 public:
  explicit AsNobody(const std::string& owned) : m_root(::geteuid() == 0) {
    if (!m_root) return;
    REQUIRE(::chown(owned.c_str(), k_nobody, k_nobody) == 0);
    REQUIRE(::setegid(k_nobody) == 0);
    REQUIRE(::seteuid(k_nobody) == 0);
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;
  ~AsNobody() {
    if (!m_root) return;
    static_cast<void>(::seteuid(0));
    static_cast<void>(::setegid(0));
  }

 private:
  bool m_root;
};

void check_tree(fs::Directory& root, const Tree& expected, const Untouched& untouched = {}) {
  const Tree found = read_tree(root, expected, untouched);
  INFO("is\n" << show(found) << "expected\n" << show(expected));
  CHECK(found == expected);
  std::string leftovers;
  is_clean(root, leftovers);
  CHECK(leftovers == "");
}

// From one tree to the other and back.
void there_and_back(const Scratch& scratch, const Tree& before, const Tree& after, const Untouched& untouched = {}) {
  const auto root = make_set(scratch.root(), before, untouched);
  const auto there = run(root->reopen().value(), after, untouched, tx_id(2));
  INFO((there ? std::string() : there.error().message()));
  REQUIRE(there);
  CHECK(there->generation == 2);
  CHECK(there->changed);
  CHECK(there->conflicts.empty());
  check_tree(*root, after, untouched);
  const auto back = run(root->reopen().value(), before, untouched, tx_id(3));
  INFO((back ? std::string() : back.error().message()));
  REQUIRE(back);
  CHECK(back->generation == 3);
  check_tree(*root, before, untouched);
}

Tree with(std::initializer_list<std::pair<const std::string, Entry>> entries) {
  Tree tree(entries);
  tree.emplace("", dir(0755, 4000));
  return tree;
}

TEST_CASE("all kinds of change at once, there and back", "[txn][commit]") {
  const Scratch scratch;
  there_and_back(scratch, rich_old(), rich_new(), rich_untouched());
}

TEST_CASE("all kinds of change as an ordinary user", "[txn][commit]") {
  const Scratch scratch;
  const AsNobody nobody(scratch.path());
  there_and_back(scratch, rich_old(), rich_new(), rich_untouched());
}

// What holds the files that were taken out of a closed directory has its name, and here no number tells them apart.
TEST_CASE("a directory that was opened up keeps its metadata where inode numbers do not last", "[txn][commit]") {
  const Tree before = with({{"closed", dir(0555, 2100)}, {"closed/gone", file("1")}, {"closed/other", file("1")}});
  const Tree after = with({{"closed", dir(0555, 2200)}, {"closed/other", file("2")}});
  fs::SimFileSystem disk({.enforce_modes = true, .numbers_last = false});
  make_set(disk.root(), before, {});
  REQUIRE(run(disk.root(), after, {}, tx_id(2)));
  const auto set = FileSet::open(disk.root()).value();
  check_tree(*disk.root(), after);
  CHECK(show(read_tree(*open_past(*set, 1).value())) == show(before));
}

TEST_CASE("new, replaced and removed files", "[txn][commit]") {
  const Scratch scratch;
  there_and_back(scratch, with({}), with({{"new", file("content", 0400)}}));
  const Scratch second;
  there_and_back(second, with({{"x", file("one")}}), with({{"x", file("two", 0600, 77)}}));
}

TEST_CASE("a new tree with closed directories in it", "[txn][commit]") {
  const Scratch scratch;
  const AsNobody nobody(scratch.path());
  there_and_back(scratch, with({}),
                 with({{"t", dir(0555)},
                       {"t/u", dir(0500)},
                       {"t/u/v", dir(0555)},
                       {"t/u/v/file", file("deep", 0444)},
                       {"t/link", symlink("u/v/file")}}));
}

TEST_CASE("changes of type", "[txn][commit]") {
  const std::vector<Tree> kinds{
      with({{"x", file("a file")}}),
      with({{"x", dir()}, {"x/y", file("below")}, {"x/z", dir(0555)}, {"x/z/w", file("deep")}}),
      with({{"x", symlink("target")}}),
      with({}),
  };
  for (const Tree& from : kinds) {
    for (const Tree& to : kinds) {
      if (&from == &to) continue;
      const Scratch scratch;
      const AsNobody nobody(scratch.path());
      there_and_back(scratch, from, to);
    }
  }
}

TEST_CASE("metadata alone", "[txn][commit]") {
  const Scratch scratch;
  Tree before = with({{"x", file("content")}, {"d", dir()}, {"l", symlink("t")}});
  Tree after = before;
  after["x"].mode = 04750;
  after["x"].mtime = -86400;
  after["d"].mode = 03711;
  after["d"].mtime = std::int64_t{5'000'000'000};
  after["l"].mtime = 42;
  after[""].mtime = 17;
  there_and_back(scratch, before, after);
}

TEST_CASE("extended attributes are set, changed and removed", "[txn][commit]") {
  const Scratch scratch;
  const auto root = scratch.root();
  {
    const auto probe = root->create_file("probe").value();
    const Status supported = probe->set_xattr("user.t", "x");
    if (!supported) {
      WARN("no user xattrs here: " + supported.error().message());
      return;
    }
  }
  REQUIRE(root->remove_file("probe"));
  Tree before = with({{"x", file("content")}, {"y", file("content y")}});
  before["x"].xattr = "one";
  Tree after = before;
  after["x"].xattr = "";
  after["y"].xattr = "two";
  there_and_back(scratch, before, after);
}

TEST_CASE("names that trade places", "[txn][commit]") {
  const Scratch scratch;
  there_and_back(scratch, with({{"a", file("A")}, {"b", file("B")}, {"c", file("C")}}),
                 with({{"a", file("B")}, {"b", file("C")}, {"c", file("A")}}));
}

TEST_CASE("a closed directory without an end gets its mode back", "[txn][commit]") {
  const Scratch scratch;
  const AsNobody nobody(scratch.path());
  there_and_back(scratch, with({{"d", dir(0555)}, {"d/e", dir(0500)}, {"d/e/x", file("old")}}),
                 with({{"d", dir(0555)}, {"d/e", dir(0500)}, {"d/e/y", file("new")}}), {"d", "d/e"});
}

TEST_CASE("another user's file in a sticky directory is refused before the commit point", "[txn][commit]") {
  if (::geteuid() != 0) {
    WARN("not tested: acts as two users, for which it must be root");
    return;
  }
  const Scratch scratch;
  const Tree before = with({{"shared", dir(01777)}, {"shared/theirs", file("1")}, {"shared/ours", file("1")}});
  std::unique_ptr<fs::Directory> root;
  {
    const AsNobody nobody(scratch.path());
    root = make_set(scratch.root(), before, {});
  }
  REQUIRE(::chown((scratch.path() + "/shared").c_str(), 0, 0) == 0);
  REQUIRE(::chown((scratch.path() + "/shared/theirs").c_str(), 0, 0) == 0);
  const AsNobody nobody(scratch.path());
  for (const char* path : {"shared/theirs", "shared/ours"}) {
    Tree after = read_tree(*root);
    after[path].content = "2";
    const auto done = run(root->reopen().value(), after, {"shared"}, tx_id(2));
    INFO(path << (done ? "" : ": " + done.error().message()));
    const bool is_ours = std::string_view(path) == "shared/ours";
    CHECK(done.has_value() == is_ours);
    if (!done) CHECK(done.error().code == Errc::not_permitted);
    CHECK((read_tree(*root).at(path).content == "2") == is_ours);
  }
}

TEST_CASE("hard links of one inode can be changed and removed in one transaction", "[txn][commit]") {
  const Scratch scratch;
  const auto root = make_set(scratch.root(), with({{"x", file("content")}}), {});
  REQUIRE(root->link("x", *root, "y"));
  StepClock clock;
  const auto set = FileSet::open(root->reopen().value()).value();
  const auto lock = WriterLock::acquire(*set, note_for(tx_id(2)), std::chrono::seconds(0), clock).value();
  const auto transaction = Transaction::begin(*set, *lock, tx_id(2), clock).value();
  const fs::Stat stat = root->stat_at("x").value();
  fs::Metadata before{stat.mode, stat.owner, stat.mtime, {}};
  fs::Metadata after = before;
  after.mtime = {123, 0};
  // The metadata change comes first, and changes what the removal was told to expect of the other name.
  REQUIRE(transaction->add(SetMetadata{RelPath::parse("x").value(), ident_of(stat), before, after}));
  REQUIRE(transaction->add(Remove{RelPath::parse("y").value(), transaction->next_slot(), ident_of(stat)}));
  const auto result = transaction->commit({});
  REQUIRE(result);
  CHECK(result->conflicts.empty());
  CHECK(root->stat_at("x").value().mtime.sec == 123);
  CHECK(!find_name(*root, "y").value());
}

TEST_CASE("an ephemeral set leaves nothing behind", "[txn][commit]") {
  const Scratch scratch;
  const auto root = scratch.root();
  REQUIRE(FileSet::create(root->reopen().value(), Lifetime::ephemeral, test_secret()));
  const Tree tree = with({{"x", file("content")}, {"d", dir()}, {"d/y", file("y")}});
  REQUIRE(run(root->reopen().value(), tree, {}, tx_id(2)));
  const auto names = root->list().value();
  REQUIRE(names.size() == 2);
  CHECK(names[0].name == "d");
  CHECK(names[1].name == "x");
}

TEST_CASE("very deep trees are replaced and removed", "[txn][commit]") {
  const Scratch scratch;
  Tree deep = with({});
  std::string path = "d";
  for (int i = 0; i < 300; ++i) {
    deep[path] = dir();
    path += "/d";
  }
  there_and_back(scratch, with({}), deep);
}

}  // namespace
}  // namespace nb::txn::test
