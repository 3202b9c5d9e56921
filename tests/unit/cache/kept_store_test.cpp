// SPDX-License-Identifier: Apache-2.0
// What is kept beside the tree belongs to a generation: a run that does not commit leaves nothing behind, one that does
// replaces and removes; damage and a file that cannot be written are told, and never give wrong attributes.
#include "cache/kept_store.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include "unit/cache/temp.hpp"

namespace {

using namespace nb::cache_test;
using namespace nb::cache;
using nb::RelPath;
using nb::fs::FileType;
using nb::fs::Xattrs;

RelPath at(const std::string& text) { return RelPath::parse(text).value(); }
Xattrs kept(const std::string& value) { return {{"user.rsync.%stat", value}, {"user.rsync.user.x", "1"}}; }

struct Fixture {
  TempDirectory temp;
  Warnings warnings;

  std::unique_ptr<KeptStore> open(std::uint64_t generation, KeptStore::Use use = KeptStore::Use::write) {
    auto store = KeptStore::open(temp.path(), generation, use, warnings.sink());
    if (use == KeptStore::Use::write) store->begin_run();
    return store;
  }
  // A run that keeps `value` for `path` and commits.
  void commit(std::uint64_t generation, const std::string& path, const std::string& value) {
    const auto store = open(generation - 1);
    REQUIRE(store->put(at(path), FileType::regular, kept(value)));
    REQUIRE(store->flush());
    store->confirm();
  }
  Xattrs found(std::uint64_t generation, const std::string& path, FileType type = FileType::regular) {
    return open(generation, KeptStore::Use::read)->find(at(path), type);
  }
};

}  // namespace

TEST_CASE_METHOD(Fixture, "kept attributes hold from the generation on that they were written for", "[cache][kept]") {
  const auto store = open(0);
  REQUIRE(store->put(at("d/f"), FileType::regular, kept("a")));
  CHECK(store->find(at("d/f"), FileType::regular).empty());
  REQUIRE(store->flush());
  CHECK(found(0, "d/f").empty());
  CHECK(found(1, "d/f") == kept("a"));
  CHECK(found(1, "d").empty());
}

TEST_CASE_METHOD(Fixture, "they speak of one type only", "[cache][kept]") {
  commit(1, "f", "a");
  CHECK(found(1, "f", FileType::directory).empty());
}

TEST_CASE_METHOD(Fixture, "a run that does not commit changes nothing, flushed or not", "[cache][kept]") {
  commit(1, "f", "old");
  commit(2, "d/g", "old");
  const bool flushed = GENERATE(true, false);
  {
    const auto store = open(2);
    REQUIRE(store->put(at("f"), FileType::regular, kept("new")));
    store->remove(at("d"));
    store->copy(at("f"), at("h"));
    if (flushed) REQUIRE(store->flush());
  }
  CHECK(found(2, "f") == kept("old"));
  CHECK(found(2, "d/g") == kept("old"));
  {
    // The next run comes to the generation that the dead one wanted to make, and touches something else.
    const auto store = open(2);
    REQUIRE(store->put(at("other"), FileType::regular, kept("x")));
    REQUIRE(store->flush());
    store->confirm();
  }
  CHECK(found(3, "f") == kept("old"));
  CHECK(found(3, "d/g") == kept("old"));
  CHECK(found(3, "h").empty());
  CHECK(found(3, "other") == kept("x"));
}

TEST_CASE_METHOD(Fixture, "a commit that was finished by recovery keeps what its run had written", "[cache][kept]") {
  commit(1, "f", "old");
  {
    const auto store = open(1);
    REQUIRE(store->put(at("f"), FileType::regular, kept("new")));
    REQUIRE(store->flush());
  }
  const auto store = open(2);  // head says so
  CHECK(store->find(at("f"), FileType::regular) == kept("new"));
}

TEST_CASE_METHOD(Fixture, "removing takes everything below, and nothing beside", "[cache][kept]") {
  for (const std::string path : {"d", "d/a", "d/b/c", "d.", "d0", "da"}) commit(1, path, path);
  const auto store = open(1);
  store->remove(at("d"));
  REQUIRE(store->put(at("d/new"), FileType::regular, kept("n")));
  REQUIRE(store->flush());
  store->confirm();
  CHECK(found(2, "d").empty());
  CHECK(found(2, "d/a").empty());
  CHECK(found(2, "d/b/c").empty());
  CHECK(found(2, "d/new") == kept("n"));
  for (const std::string path : {"d.", "d0", "da"}) CHECK(found(2, path) == kept(path));
}

TEST_CASE_METHOD(Fixture, "nothing to keep ends what was kept; a hard link has what the first name has",
                 "[cache][kept]") {
  commit(1, "f", "old");
  const auto store = open(1);
  REQUIRE(store->put(at("new"), FileType::regular, kept("n")));
  store->copy(at("new"), at("second"));
  store->copy(at("f"), at("third"));
  REQUIRE(store->put(at("f"), FileType::regular, {}));
  REQUIRE(store->flush());
  store->confirm();
  CHECK(found(2, "f").empty());
  CHECK(found(2, "second") == kept("n"));
  CHECK(found(2, "third") == kept("old"));
  SQLite::Database database(temp.file("kept.db"));
  CHECK(database.execAndGet("SELECT COUNT(*) FROM kept").getInt() == 3);
}

TEST_CASE_METHOD(Fixture, "a row that was damaged is no row", "[cache][kept]") {
  commit(1, "f", "old");
  {
    SQLite::Database database(temp.file("kept.db"), SQLite::OPEN_READWRITE);
    database.exec("UPDATE kept SET attributes = x'0261620163'");
  }
  CHECK(found(1, "f").empty());
}

TEST_CASE_METHOD(Fixture, "a damaged row is told, and goes with the next run", "[cache][kept]") {
  const std::string damage = GENERATE("gone = 3", "gone = gone - 1", "since = since + 9", "type = 2", "path = x'67'");
  commit(1, "f", "a");
  commit(2, "g2", "b");
  {
    SQLite::Database database(temp.file("kept.db"), SQLite::OPEN_READWRITE);
    REQUIRE(database.exec("UPDATE kept SET " + damage + " WHERE path = x'66'") == 1);
  }
  const Xattrs doubtful = found(2, "f");
  CHECK((doubtful.empty() || doubtful == kept("a")));
  CHECK(warnings.texts.size() == 1);
  commit(3, "f", "new");
  CHECK(warnings.texts.size() == 2);
  CHECK(found(3, "f") == kept("new"));
  CHECK(found(3, "g2") == kept("b"));
  CHECK(warnings.texts.size() == 2);
  SQLite::Database database(temp.file("kept.db"));
  CHECK(database.execAndGet("SELECT COUNT(*) FROM kept").getInt() == 2);
}

TEST_CASE_METHOD(Fixture, "a damaged file is told by a reader, and set aside by a writer", "[cache][kept]") {
  commit(1, "f", "old");
  write_file(temp.file("kept.db"), std::string(4096, 'x'));
  CHECK(found(1, "f").empty());
  CHECK(warnings.texts.size() == 1);
  CHECK_FALSE(files::exists(temp.file("kept.db.damaged-1")));
  const auto store = open(1);
  CHECK(warnings.texts.size() == 2);
  REQUIRE(store->put(at("f"), FileType::regular, kept("again")));
  REQUIRE(store->flush());
  CHECK(files::exists(temp.file("kept.db.damaged-1")));
}

TEST_CASE_METHOD(Fixture, "what could not be written keeps the next generation from coming", "[cache][kept]") {
  commit(1, "f", "old");
  const auto store = open(1);
  REQUIRE(store->put(at("f"), FileType::regular, kept("new")));
  REQUIRE(store->flush());
  {
    SQLite::Database database(temp.file("kept.db"), SQLite::OPEN_READWRITE);
    database.exec("CREATE TRIGGER refuse BEFORE INSERT ON kept BEGIN SELECT RAISE(ABORT, 'no'); END");
  }
  CHECK_FALSE(store->put(at("g"), FileType::regular, kept("new")));
  CHECK_FALSE(store->flush());
  CHECK(warnings.texts.size() == 1);
}

TEST_CASE_METHOD(Fixture, "what fails while it is read keeps the next generation from coming, too", "[cache][kept]") {
  commit(1, "f", "old");
  const auto store = open(1);
  {
    // More than SQLite makes of a blob: neither damage nor somebody who can be waited for.
    SQLite::Database database(temp.file("kept.db"), SQLite::OPEN_READWRITE);
    database.exec(
        "ALTER TABLE kept RENAME TO moved; CREATE VIEW kept AS SELECT path, since, gone, type,"
        " zeroblob(3000000000) AS attributes, sum FROM moved");
  }
  CHECK(store->find(at("f"), FileType::regular).empty());
  CHECK(warnings.texts.size() == 1);
  store->remove(at("f"));
  CHECK_FALSE(store->flush());
}

TEST_CASE_METHOD(Fixture, "more than one path may keep is refused, and what was kept ends", "[cache][kept]") {
  commit(1, "f", "old");
  const auto store = open(1);
  CHECK_FALSE(store->put(at("f"), FileType::regular, {{"user.x", std::string(k_max_kept_bytes, 'x')}}));
  CHECK(store->flush());
  store->confirm();
  CHECK(found(2, "f").empty());
}

TEST_CASE_METHOD(Fixture, "removing what is below a path leaves the path itself", "[cache][kept]") {
  for (const std::string path : {"d", "d/a", "d/b/c", "d0"}) commit(1, path, path);
  const auto store = open(1);
  REQUIRE(store->put(at("d"), FileType::regular, kept("a file now")));
  store->remove_below(at("d"));
  REQUIRE(store->flush());
  store->confirm();
  CHECK(found(2, "d") == kept("a file now"));
  CHECK(found(2, "d/a").empty());
  CHECK(found(2, "d/b/c").empty());
  CHECK(found(2, "d0") == kept("d0"));
}

TEST_CASE_METHOD(Fixture, "a run that dies after its file was begun anew leaves nothing behind", "[cache][kept]") {
  {
    const auto store = open(0);
    REQUIRE(store->put(at("f"), FileType::regular, kept("dead")));
    REQUIRE(store->flush());
    write_file(temp.file("kept.db"), std::string(4096, 'x'));
    REQUIRE(store->put(at("f"), FileType::regular, kept("dead")));
    REQUIRE(store->flush());
    CHECK(files::exists(temp.file("kept.db.damaged-1")));
  }
  commit(1, "other", "x");
  CHECK(found(1, "f").empty());
}
