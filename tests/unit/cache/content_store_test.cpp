// SPDX-License-Identifier: Apache-2.0
// What scrubs know of contents: found by inode, forgotten by parts, and a row that was changed is no row.
#include "cache/content_store.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <set>

#include "unit/cache/temp.hpp"

namespace {

using namespace nb::cache_test;
using namespace nb::cache;

struct Fixture {
  TempDirectory temp;
  Warnings warnings;
  std::unique_ptr<ContentStore> store = ContentStore::open(temp.path(), warnings.sink());

  void reopen() {
    store.reset();
    store = ContentStore::open(temp.path(), warnings.sink());
  }
};

Content content(std::uint64_t number) { return {number, 100 + number, -5, 77, 55, digest_number(number), 1000}; }

}  // namespace

TEST_CASE("a content is found by its inode", "[cache][scrub]") {
  Fixture f;
  f.store->put(~std::uint64_t{0}, content(1));
  f.store->put(2, content(2));
  f.store->put(2, content(3));
  f.reopen();
  const auto found = f.store->find(~std::uint64_t{0});
  REQUIRE(found);
  CHECK(found->path == 1);
  CHECK(found->size == 101);
  CHECK(found->mtime_ns == -5);
  CHECK(found->ctime_ns == 77);
  CHECK(found->born_ns == 55);
  CHECK(found->digest == digest_number(1));
  CHECK(found->seen_ns == 1000);
  CHECK(f.store->find(2)->digest == digest_number(3));
  CHECK_FALSE(f.store->find(3));
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("all inodes of a content are found", "[cache][scrub]") {
  Fixture f;
  for (std::uint64_t inode = 1; inode <= 10; ++inode) f.store->put(inode, content(inode % 3));
  std::set<std::uint64_t> found;
  f.store->for_each_of([](const Content& each) { return each.digest == digest_number(1); },
                       [&](std::uint64_t inode, const Content&) { found.insert(inode); });
  CHECK(found == std::set<std::uint64_t>{1, 4, 7, 10});
}

TEST_CASE("what was not seen is forgotten, part by part", "[cache][scrub]") {
  Fixture f;
  for (std::uint64_t inode = 1; inode <= 6; ++inode) {
    Content each = content(inode);
    each.seen_ns = inode > 4 ? 2000 : 1000;
    f.store->put(inode, each);
  }
  f.store->forget_unseen(2000, 1, 2);  // odd paths
  CHECK_FALSE(f.store->find(1));
  CHECK(f.store->find(2));
  CHECK_FALSE(f.store->find(3));
  CHECK(f.store->find(4));
  CHECK(f.store->find(5));
  f.store->forget_unseen(2000, 0, 1);
  CHECK_FALSE(f.store->find(2));
  CHECK(f.store->find(6));
}

TEST_CASE("a changed row is none", "[cache][scrub]") {
  for (const char* change : {"path = 9", "size = 9", "mtime_ns = 9", "ctime_ns = 9", "born_ns = 9", "seen_ns = 9",
                             "digest = zeroblob(16)", "digest = x''", "inode = 9"}) {
    Fixture f;
    f.store->put(1, content(1));
    f.store.reset();
    SQLite::Database(f.temp.file("contents.db"), SQLite::OPEN_READWRITE)
        .exec(std::string("UPDATE contents SET ") + change);
    f.reopen();
    INFO(change);
    CHECK_FALSE(f.store->find(1));
    CHECK_FALSE(f.store->find(9));
  }
}

TEST_CASE("every path is in one part", "[cache][scrub]") {
  const std::uint64_t number = path_number(nb::RelPath::parse("a/b").value());
  CHECK(number != path_number(nb::RelPath::parse("a/c").value()));
  for (const std::uint64_t parts : {1U, 2U, 30U, 10'000U}) CHECK(part_of(number, parts) < parts);
}
