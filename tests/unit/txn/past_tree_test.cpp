// SPDX-License-Identifier: Apache-2.0
// Histories written by hand, each for one way in which changes meet.
#include "txn/past_tree.hpp"

#include "past_world.hpp"

namespace nb::txn::test {
namespace {

using fs::FileType;
using fs::test::names;
using fs::test::Names;
using fs::test::PosixWorld;
using fs::test::SimWorld;

}  // namespace

TEMPLATE_TEST_CASE("past: the live generation is the live tree", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("d/a", "x");
  set.symlink("link", "d/a");
  const Descriptions live = describe(set.live());
  CHECK(describe(*set.past(0)) == live);  // nothing is kept yet
  set.base(7);
  CHECK(describe(*set.past(7)) == live);
  CHECK(names(*set.past(7)) == Names{".nbackup", "d", "link"});
  CHECK(code(open_past(set.set(), 6)) == Errc::not_found);
}

TEMPLATE_TEST_CASE("past: what was changed, removed and created", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("changed", "old");
  set.file("removed", "gone");
  set.file("same", "same");
  set.symlink("turned", "old target");
  set.base(1);
  const Descriptions before = describe(set.live());
  for (const char* path : {"changed", "removed", "turned"}) set.keep(2, path);
  set.file("changed", "new");
  set.file("created", "new");
  set.symlink("turned", "new target");
  set.commit(2, {kept("changed"), absent("created"), kept("removed"), kept("turned", FileType::symlink)});

  const auto past = set.past(1);
  CHECK(names(*past) == Names{".nbackup", "changed", "removed", "same", "turned"});
  CHECK(code(past->stat_at("created")) == Errc::not_found);
  CHECK(code(past->open_file("created", fs::OpenMode::read)) == Errc::not_found);
  Descriptions after = describe(*past);
  after[""].meta.mtime = before.at("").meta.mtime;  // the test leaves it to the file system
  CHECK(after == before);
}

TEMPLATE_TEST_CASE("past: older changes inside a tree that was removed later", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("d/a", "1");
  set.file("d/sub/deep/b", "1");
  set.file("d/sub/gone", "1");
  set.base(1);
  set.keep(2, "d/a");
  set.keep(2, "d/sub/gone");
  set.file("d/a", "2");
  set.file("d/sub/deep/new", "2");
  set.commit(2, {kept("d/a"), absent("d/sub/deep/new"), kept("d/sub/gone")});
  set.keep(3, "d");
  set.commit(3, {kept("d", FileType::directory)});

  CHECK(names(*set.past(3)) == Names{".nbackup"});
  CHECK(at.text(2, "d/a") == "2");
  CHECK(at.names_in(2, "d/sub") == Names{"deep"});
  CHECK(at.names_in(2, "d/sub/deep") == Names{"b", "new"});
  CHECK(at.text(1, "d/a") == "1");
  CHECK(at.text(1, "d/sub/deep/b") == "1");
  CHECK(at.names_in(1, "d/sub") == Names{"deep", "gone"});
  CHECK(at.names_in(1, "d/sub/deep") == Names{"b"});
}

TEMPLATE_TEST_CASE("past: a tree kept inside a tree that is kept by another", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("p/q/z", "1");
  set.file("p/q/y", "1");
  set.file("p/c", "1");
  set.base(1);
  set.keep(2, "p/q/z");
  set.file("p/q/z", "2");
  set.commit(2, {kept("p/q/z")});
  set.keep(3, "p/q");
  set.keep(3, "p/c");
  set.file("p/c", "3");
  set.commit(3, {kept("p/c"), kept("p/q", FileType::directory)});
  set.keep(4, "p");
  set.file("p", "4");
  set.commit(4, {kept("p", FileType::directory)});

  CHECK(at.text(4, "p") == "4");
  CHECK(at.names_in(3, "p") == Names{"c"});
  CHECK(at.text(3, "p/c") == "3");
  CHECK(at.text(2, "p/c") == "1");
  CHECK(at.text(2, "p/q/z") == "2");
  CHECK(at.text(1, "p/q/z") == "1");
  CHECK(at.text(1, "p/q/y") == "1");
}

TEMPLATE_TEST_CASE("past: a name that was each type in turn", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("p", "file");
  set.base(1);
  set.keep(2, "p");
  set.file("p/x", "in it");
  set.commit(2, {kept("p")});
  set.keep(3, "p/x");
  set.directory("p/x");
  set.commit(3, {kept("p/x")});
  set.keep(4, "p");
  set.symlink("p", "target");
  set.commit(4, {kept("p", FileType::directory)});
  set.keep(5, "p");
  set.commit(5, {kept("p", FileType::symlink)});

  CHECK(names(*set.past(5)) == Names{".nbackup"});
  CHECK(good(set.past(4)->read_link("p")) == "target");
  CHECK(code(set.past(4)->open_directory("p")) == Errc::path);
  CHECK(at.names_in(3, "p/x").empty());
  CHECK(at.text(2, "p/x") == "in it");
  CHECK(at.text(1, "p") == "file");
  CHECK(good(set.past(1)->list()).back().type == FileType::regular);
  CHECK(good(set.past(3)->list()).back().type == FileType::directory);
}

TEMPLATE_TEST_CASE("past: a directory that was removed and made again", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.base(1);
  set.file("d/a", "2");
  set.commit(2, {absent("d")});
  set.keep(3, "d/a");
  set.file("d/a", "3");
  set.commit(3, {kept("d/a")});
  set.keep(4, "d");
  set.commit(4, {kept("d", FileType::directory)});
  set.file("d/a", "5");
  set.file("d/b", "5");
  set.commit(5, {absent("d")});
  set.keep(6, "d/a");
  set.commit(6, {kept("d/a")});

  CHECK(at.names_in(6, "d") == Names{"b"});
  CHECK(at.text(5, "d/a") == "5");
  CHECK(code(set.past(4)->open_directory("d")) == Errc::not_found);
  CHECK(at.names_in(3, "d") == Names{"a"});
  CHECK(at.text(3, "d/a") == "3");
  CHECK(at.text(2, "d/a") == "2");
  CHECK(names(*set.past(1)) == Names{".nbackup"});
}

TEMPLATE_TEST_CASE("past: a chain with gaps, as thinning leaves it", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("a", "3");
  set.base(3);
  set.keep(9, "a");
  set.file("a", "9");
  set.commit(9, {kept("a")}, 3);
  set.keep(20, "a");
  set.commit(20, {kept("a")}, 9);
  CHECK(at.text(3, "a") == "3");
  CHECK(at.text(9, "a") == "9");
  CHECK(code(open_past(set.set(), 8)) == Errc::not_found);
}

TEMPLATE_TEST_CASE("past: a large directory with names from everywhere", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  constexpr int k_files = 500;
  PastSet& set = at.set;
  set.directory("d");
  std::vector<Change> second;
  std::vector<Change> third;
  const auto path = [](int i) { return "d/" + std::to_string(i) + (i % 2 == 0 ? "\xff" : "\x01"); };
  for (int i = 0; i < k_files; ++i) set.file(path(i), std::to_string(i));
  const Descriptions before = describe(set.live());
  set.base(1);
  for (int i = 0; i < k_files; i += 5) {
    set.keep(2, path(i));
    second.emplace_back(kept(path(i)));
    set.file("d/new" + std::to_string(i), "new");
    second.emplace_back(absent("d/new" + std::to_string(i)));
  }
  set.commit(2, second);
  for (int i = 1; i < k_files; i += 5) {
    set.keep(3, path(i));
    set.file(path(i), "changed");
    third.emplace_back(kept(path(i)));
  }
  set.commit(3, third);
  Descriptions after = describe(*set.past(1));
  after["d"].meta.mtime = before.at("d").meta.mtime;
  after[""].meta.mtime = before.at("").meta.mtime;
  CHECK((after == before));
}

TEMPLATE_TEST_CASE("past: several components at once", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("live/x/f", "1");
  set.file("kept/x/f", "1");
  set.base(1);
  set.keep(2, "kept/x");
  set.file("live/new/f", "2");
  set.commit(2, {kept("kept/x", FileType::directory), absent("live/new")});
  const auto past = set.past(1);
  CHECK(names(*good(past->open_directory_path(rel("kept/x")))) == Names{"f"});
  CHECK(names(*good(past->open_directory_path(rel("live/x")))) == Names{"f"});
  CHECK(names(*good(past->open_directory_path(RelPath()))) == names(*past));
  CHECK(code(past->open_directory_path(rel("live/new"))) == Errc::not_found);
  CHECK(code(past->open_directory_path(rel("live/new/below/it"))) == Errc::not_found);
  CHECK(code(past->open_directory_path(rel("kept/x/f"))) == Errc::path);
  CHECK(code(past->open_directory_path(rel("kept/y/z"))) == Errc::not_found);
}

TEMPLATE_TEST_CASE("past: nothing can be changed through it", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  set.file("a", "1");
  set.base(1);
  set.commit(2, {old_metadata("a", 0600)});
  const auto past = set.past(1);
  CHECK(code(past->create_file("n")) == Errc::unsupported);
  CHECK(code(past->create_directory("n")) == Errc::unsupported);
  CHECK(code(past->remove_file("a")) == Errc::unsupported);
  CHECK(code(past->rename("a", *past, "b", fs::RenameMode::replace)) == Errc::unsupported);
  CHECK(code(past->link("a", *past, "b")) == Errc::unsupported);
  CHECK(code(past->set_mode(0700)) == Errc::unsupported);
  CHECK(code(past->open_file("a", fs::OpenMode::read_write)) == Errc::unsupported);
  const auto file = good(past->open_file("a", fs::OpenMode::read));
  CHECK(code(file->write_at(0, as_bytes(std::string_view("x")))) == Errc::unsupported);
  CHECK(code(file->set_mtime({1, 0})) == Errc::unsupported);
  CHECK(code(good(past->open_node("a"))->set_mode(0644)) == Errc::unsupported);
  CHECK_FALSE(past->writable());
  CHECK_FALSE(past->file_system_identity());
  CHECK_FALSE(past->attribute_identity());
  CHECK_FALSE(past->kernel_path());
  CHECK_FALSE(file->file_system_identity());
}

TEMPLATE_TEST_CASE("past: directories that are sure to be equal", "[txn][past]", SimWorld, PosixWorld) {
  PastFixture<TestType> at;
  PastSet& set = at.set;
  for (const char* path : {"same/x/f", "changed/x/f", "early/x/f", "meta/x/f"}) set.file(path, "1");
  set.base(1);
  set.keep(2, "changed/x/f");
  set.commit(2, {kept("changed/x/f")});
  set.commit(3, {old_metadata("meta/x/f", 0600)});
  set.keep(4, "early/x");
  set.commit(4, {kept("early/x", FileType::directory)});
  set.commit(5, {old_of_all_names("same/x/f", 0600)});

  const auto same = [&](std::uint64_t a, std::uint64_t b, std::string_view path) {
    const RelPath where = path.empty() ? RelPath() : rel(path);
    return same_subtree(*good(set.past(a)->open_directory_path(where)), *good(set.past(b)->open_directory_path(where)));
  };
  CHECK(same(1, 1, ""));
  CHECK_FALSE(same(1, 2, ""));
  CHECK(same(1, 4, "same"));
  CHECK(same(1, 4, "same/x"));
  CHECK_FALSE(same(1, 2, "changed"));
  CHECK_FALSE(same(1, 2, "changed/x"));
  CHECK(same(2, 3, "changed"));
  CHECK(same(1, 2, "meta"));
  CHECK_FALSE(same(2, 3, "meta/x"));
  CHECK(same(1, 3, "early"));
  CHECK(same(1, 3, "early/x"));
  CHECK_FALSE(same(3, 4, "early"));
  CHECK_FALSE(same(4, 5, "same"));
  CHECK(same(5, 5, "same"));
  CHECK_FALSE(same_subtree(set.live(), *set.past(5)));
}

}  // namespace nb::txn::test
