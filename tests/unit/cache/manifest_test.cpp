// SPDX-License-Identifier: Apache-2.0
// The manifest: a row is found for exactly the state it was confirmed with, and only after it was confirmed; a renamed
// directory, a symlink, garbage, a newer schema and a full disk cost no more than the rows.
#include "cache/manifest.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <fcntl.h>
#include <sys/resource.h>

#include <csignal>
#include <ctime>

#include "base/fd.hpp"
#include "unit/cache/temp.hpp"

namespace {

using namespace nb::cache_test;
using namespace nb::cache;
using nb::RelPath;

constexpr TransactionId k_first{std::byte{1}};
constexpr TransactionId k_second{std::byte{2}};

RelPath path_of(const std::string& text) { return RelPath::parse(text).value(); }

StagedFile staged_file(std::uint64_t number) {
  return {number, 100 + number, {1'600'000'000, static_cast<std::uint32_t>(number)}, digest_number(number)};
}

nb::fs::Stat stat_of(const StagedFile& file, std::uint32_t ctime_nsec = 77) {
  nb::fs::Stat stat;
  stat.inode = file.inode;
  stat.size = file.size;
  stat.mtime = file.mtime;
  stat.ctime = {1'700'000'000, ctime_nsec};
  return stat;
}

void commit(Manifest& manifest, const std::string& path, std::uint64_t number) {
  manifest.stage(path_of(path), staged_file(number));
  manifest.confirm(path_of(path), stat_of(staged_file(number)));
}

nb::Bytes piece_bytes(std::uint8_t value) { return nb::Bytes(5000, static_cast<std::byte>(value)); }

struct Fixture {
  TempDirectory temp;
  Warnings warnings;
  std::unique_ptr<Manifest> manifest = Manifest::open(temp.path(), warnings.sink());

  void reopen() {
    manifest.reset();
    manifest = Manifest::open(temp.path(), warnings.sink());
  }
};

}  // namespace

TEST_CASE("a committed file is found for exactly its state", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "a/b", 1);
  commit(*f.manifest, "top", 2);
  f.reopen();
  const StagedFile file = staged_file(1);
  CHECK(f.manifest->find(path_of("a/b"), stat_of(file)) == digest_number(1));
  CHECK(f.manifest->find(path_of("top"), stat_of(staged_file(2))) == digest_number(2));
  CHECK_FALSE(f.manifest->find(path_of("a/c"), stat_of(file)));
  CHECK_FALSE(f.manifest->find(path_of("b"), stat_of(file)));
  CHECK_FALSE(f.manifest->find(path_of("a/b"), stat_of(file, 78)));
  for (const int field : {0, 1, 2, 3}) {
    nb::fs::Stat other = stat_of(file);
    if (field == 0) ++other.inode;
    if (field == 1) ++other.size;
    if (field == 2) ++other.mtime.nsec;
    if (field == 3) other.type = nb::fs::FileType::symlink;
    CHECK_FALSE(f.manifest->find(path_of("a/b"), other));
  }
  CHECK(f.warnings.texts.empty());
  CHECK(mode_of(f.temp.file("manifest.db")) == 0600);
}

TEST_CASE("what is staged is not found before it is confirmed", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "x", 1);
  f.manifest->stage(path_of("x"), staged_file(2));
  f.manifest->flush();
  CHECK(f.manifest->find(path_of("x"), stat_of(staged_file(1))) == digest_number(1));
  CHECK_FALSE(f.manifest->find(path_of("x"), stat_of(staged_file(2))));
  CHECK_FALSE(f.manifest->has_other(path_of("y"), staged_file(2).size, {}));
  CHECK(f.manifest->find_by_content(digest_number(2), staged_file(2).size).empty());
  f.manifest->confirm(path_of("x"), stat_of(staged_file(2)));
  CHECK_FALSE(f.manifest->find(path_of("x"), stat_of(staged_file(1))));
  CHECK(f.manifest->find(path_of("x"), stat_of(staged_file(2))) == digest_number(2));
}

TEST_CASE("what a crash left pending goes at the next run, but not at a reconnect", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  f.manifest->stage(path_of("x"), staged_file(1));
  f.manifest->stage_piece(path_of("x"), 0, piece_bytes(1));
  f.reopen();
  f.manifest->begin_run(k_first);
  f.manifest->confirm(path_of("x"), stat_of(staged_file(1)));
  CHECK(f.manifest->find(path_of("x"), stat_of(staged_file(1))));
  f.manifest->stage(path_of("x"), staged_file(2));
  f.reopen();
  f.manifest->begin_run(k_second);
  f.manifest->confirm(path_of("x"), stat_of(staged_file(2)));
  CHECK_FALSE(f.manifest->find(path_of("x"), stat_of(staged_file(2))));
  CHECK(f.manifest->find(path_of("x"), stat_of(staged_file(1))) == digest_number(1));
  CHECK(f.manifest->piece(path_of("x"), 0) == piece_bytes(1));
}

TEST_CASE("what is pending of a live file goes at a reconnect", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "x", 1);
  f.manifest->begin_run(k_second);
  StagedFile touched = staged_file(1);
  ++touched.mtime.sec;
  f.manifest->stage(path_of("x"), touched);
  f.manifest->stage(path_of("y"), staged_file(2));
  f.reopen();
  f.manifest->begin_run(k_second);
  f.manifest->confirm(path_of("x"), stat_of(touched, 78));
  f.manifest->confirm(path_of("y"), stat_of(staged_file(2)));
  CHECK_FALSE(f.manifest->find(path_of("x"), stat_of(touched, 78)));
  CHECK(f.manifest->find(path_of("y"), stat_of(staged_file(2))));
}

TEST_CASE("a file that is not the staged one is not confirmed", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "x", 1);
  f.manifest->stage(path_of("x"), staged_file(2));
  nb::fs::Stat other = stat_of(staged_file(2));
  ++other.mtime.nsec;  // someone wrote to it between apply and now
  f.manifest->confirm(path_of("x"), other);
  CHECK_FALSE(f.manifest->find(path_of("x"), other));
  CHECK_FALSE(f.manifest->find(path_of("x"), stat_of(staged_file(2))));
}

TEST_CASE("everything pending is confirmed in one go", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    f.manifest->stage(path_of("d" + std::to_string(i % 7) + "/" + std::to_string(i)), staged_file(i));
  }
  f.manifest->stage(path_of("gone"), staged_file(5000));
  std::uint64_t asked = 0;
  f.manifest->confirm_all([&](const RelPath& path) -> std::optional<nb::fs::Stat> {
    ++asked;
    if (path.str() == "gone") return std::nullopt;
    return stat_of(staged_file(std::stoull(std::string(path.name()))));
  });
  CHECK(asked == 2001);
  f.reopen();
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const RelPath path = path_of("d" + std::to_string(i % 7) + "/" + std::to_string(i));
    found += f.manifest->find(path, stat_of(staged_file(i))) == digest_number(i) ? 1U : 0U;
  }
  CHECK(found == 2000);
  CHECK_FALSE(f.manifest->find(path_of("gone"), stat_of(staged_file(5000))));
}

TEST_CASE("a content is found by size and digest", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "a/x", 1);
  commit(*f.manifest, "y", 1);
  commit(*f.manifest, "z", 2);
  CHECK(f.manifest->has_other(path_of("y"), 101, {}));
  CHECK(f.manifest->has_other(path_of("new"), 102, {}));
  CHECK(f.manifest->has_other(path_of("new"), 102, staged_file(2).mtime));
  CHECK_FALSE(f.manifest->has_other(path_of("new"), 102, staged_file(3).mtime));
  CHECK_FALSE(f.manifest->has_other(path_of("z"), 102, {}));
  CHECK_FALSE(f.manifest->has_other(path_of("new"), 99, {}));
  CHECK(f.manifest->find_by_content(digest_number(1), 101).size() == 2);
  CHECK(f.manifest->find_by_content(digest_number(1), 101, 1).size() == 1);
  CHECK(f.manifest->find_by_content(digest_number(2), 102) == std::vector<RelPath>{path_of("z")});
  CHECK(f.manifest->find_by_content(digest_number(2), 101).empty());
}

TEST_CASE("removing a path removes what is below it, and nothing beside it", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  const std::vector<std::string> paths{"a", "a/x", "a/b/x", "a.b", "a0", "ab/x"};
  for (std::uint64_t i = 0; i < paths.size(); ++i) commit(*f.manifest, paths[i], i);
  f.manifest->stage(path_of("a/new"), staged_file(9));
  f.manifest->remove(path_of("a"));
  f.manifest->confirm(path_of("a/new"), stat_of(staged_file(9)));
  for (std::uint64_t i = 0; i < paths.size(); ++i) {
    CHECK(f.manifest->find(path_of(paths[i]), stat_of(staged_file(i))).has_value() == (i > 2));
  }
  CHECK(f.manifest->find(path_of("a/new"), stat_of(staged_file(9))));
}

TEST_CASE("names are bytes", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "\xff\xfe/\n\x01", 1);
  commit(*f.manifest, "d/b", 2);
  commit(*f.manifest, "d/\xc3\xa4", 3);
  f.reopen();
  CHECK(f.manifest->find(path_of("\xff\xfe/\n\x01"), stat_of(staged_file(1))));
  CHECK(f.manifest->find(path_of("d/b"), stat_of(staged_file(2))));
  CHECK(f.manifest->find(path_of("d/\xc3\xa4"), stat_of(staged_file(3))));
}

TEST_CASE("a signature belongs to the content it was staged with", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  f.manifest->stage_piece(path_of("x"), 1, piece_bytes(1));  // before the digest is known
  f.manifest->stage_piece(path_of("x"), 0, piece_bytes(0));
  commit(*f.manifest, "x", 1);
  f.reopen();
  CHECK(f.manifest->piece(path_of("x"), 0) == piece_bytes(0));
  CHECK(f.manifest->piece(path_of("x"), 1) == piece_bytes(1));
  CHECK_FALSE(f.manifest->piece(path_of("x"), 2));
  f.manifest->begin_run(k_second);
  commit(*f.manifest, "x", 2);  // without a signature
  CHECK_FALSE(f.manifest->piece(path_of("x"), 0));
  f.manifest->begin_run(k_first);
  f.reopen();
  SQLite::Database database(f.temp.file("manifest.db"), SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("SELECT COUNT(*) FROM pieces").getInt() == 0);
}

TEST_CASE("a file that is staged with the content it had keeps its signature", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  f.manifest->stage_piece(path_of("x"), 0, piece_bytes(0));
  commit(*f.manifest, "x", 1);
  commit(*f.manifest, "x", 1);
  CHECK(f.manifest->piece(path_of("x"), 0) == piece_bytes(0));
}

TEST_CASE("no piece outlives its row", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  for (const char* name : {"d/x", "d/y", "z"}) {
    f.manifest->stage_piece(path_of(name), 0, piece_bytes(0));
    commit(*f.manifest, name, 1);
  }
  f.manifest->stage_piece(path_of("new"), 0, piece_bytes(0));  // never committed
  f.manifest->stage_piece(path_of("z"), 0, piece_bytes(1));
  commit(*f.manifest, "z", 2);
  f.manifest->remove(path_of("d"));
  f.manifest->begin_run(k_second);
  f.reopen();
  CHECK(f.manifest->piece(path_of("z"), 0) == piece_bytes(1));
  SQLite::Database database(f.temp.file("manifest.db"), SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("SELECT COUNT(*) FROM pieces").getInt() == 1);
  CHECK(database.execAndGet("SELECT COUNT(*) FROM signatures").getInt() == 1);
}

TEST_CASE("pieces without a digest make no row", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  f.manifest->stage_piece(path_of("x"), 0, piece_bytes(0));
  nb::fs::Stat stat;
  f.manifest->confirm(path_of("x"), stat);
  CHECK_FALSE(f.manifest->find(path_of("x"), stat));
  CHECK_FALSE(f.manifest->piece(path_of("x"), 0));
}

TEST_CASE("altered rows and pieces are not believed", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  f.manifest->stage_piece(path_of("x"), 0, piece_bytes(1));
  commit(*f.manifest, "x", 1);
  commit(*f.manifest, "y", 2);
  f.manifest.reset();
  {
    SQLite::Database database(f.temp.file("manifest.db"), SQLite::OPEN_READWRITE);
    database.exec("UPDATE pieces SET data = zeroblob(5000)");
    database.exec("UPDATE files SET digest = zeroblob(16) WHERE CAST(name AS TEXT) = 'y'");
  }
  f.manifest = Manifest::open(f.temp.path(), f.warnings.sink());
  CHECK(f.manifest->find(path_of("x"), stat_of(staged_file(1))));
  CHECK_FALSE(f.manifest->piece(path_of("x"), 0));
  CHECK_FALSE(f.manifest->find(path_of("y"), stat_of(staged_file(2))));
}

TEST_CASE("a manifest stays with its directory when that is renamed", "[cache]") {
  const TempDirectory temp;
  files::create_directory(temp.file("one"));
  nb::Fd directory(::open(temp.file("one").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(directory.valid());
  Warnings warnings;
  const std::string path = "/proc/self/fd/" + std::to_string(directory.get());
  {
    const auto manifest = Manifest::open(path, warnings.sink());
    files::rename(temp.file("one"), temp.file("two"));
    files::create_directory(temp.file("one"));
    write_file(temp.file("one/manifest.db-wal"), "another's");
    manifest->begin_run(k_first);
    commit(*manifest, "x", 1);
  }
  CHECK(files::file_size(temp.file("one/manifest.db-wal")) == 9);
  CHECK_FALSE(files::exists(temp.file("one/manifest.db")));
  CHECK(warnings.texts.empty());
  const auto manifest = Manifest::open(temp.file("two"), warnings.sink());
  CHECK(manifest->find(path_of("x"), stat_of(staged_file(1))));
}

TEST_CASE("a symlink in the place of the manifest is refused", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const std::string name = GENERATE("manifest.db", "manifest.db.lock");
  write_file(temp.file("target"), "precious");
  files::create_directory(temp.file("d"));
  files::create_symlink(temp.file("target"), temp.file("d/" + name));
  {
    const auto manifest = Manifest::open(temp.file("d"), warnings.sink());
    manifest->begin_run(k_first);
    commit(*manifest, "x", 1);
    CHECK_FALSE(manifest->find(path_of("x"), stat_of(staged_file(1))));
  }
  CHECK(warnings.texts.size() == 1);
  CHECK(files::file_size(temp.file("target")) == 8);
}

TEST_CASE("a symlink in the place of its journal is not written through", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "x", 1);
  f.manifest.reset();
  write_file(f.temp.file("target"), "precious");
  files::create_symlink(f.temp.file("target"), f.temp.file("manifest.db-wal"));
  f.manifest = Manifest::open(f.temp.path(), f.warnings.sink());
  f.manifest->begin_run(k_second);
  commit(*f.manifest, "y", 2);
  f.manifest.reset();
  CHECK(f.warnings.texts.size() == 1);
  CHECK(files::file_size(f.temp.file("target")) == 8);
}

TEST_CASE("a manifest of a newer version is left alone", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  {
    SQLite::Database database(temp.file("manifest.db"), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("CREATE TABLE later(x); PRAGMA user_version = 99");
  }
  {
    const auto manifest = Manifest::open(temp.path(), warnings.sink());
    manifest->begin_run(k_first);
    commit(*manifest, "x", 1);
    CHECK_FALSE(manifest->find(path_of("x"), stat_of(staged_file(1))));
  }
  CHECK(warnings.texts.size() == 1);
  SQLite::Database database(temp.file("manifest.db"), SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("PRAGMA user_version").getInt() == 99);
}

TEST_CASE("a manifest that holds nothing finds nothing", "[cache]") {
  const auto manifest = Manifest::none();
  manifest->begin_run(k_first);
  commit(*manifest, "x", 1);
  manifest->confirm_all([](const RelPath&) { return std::optional<nb::fs::Stat>(); });
  CHECK_FALSE(manifest->find(path_of("x"), stat_of(staged_file(1))));
  CHECK_FALSE(manifest->has_other(path_of("y"), 101, {}));
  manifest->note_listing(path_of("d"), digest_number(1));
  CHECK_FALSE(manifest->knows_listings());
}

TEST_CASE("a directory is found by its listing, and goes with its tree", "[cache]") {
  Fixture f;
  CHECK_FALSE(f.manifest->knows_listings());
  f.manifest->note_listing(path_of("a/b"), digest_number(1));
  f.manifest->note_listing(path_of("c"), digest_number(1));
  f.manifest->note_listing(RelPath(), digest_number(2));
  f.manifest->note_listing(path_of("c"), digest_number(3));
  f.reopen();
  CHECK(f.manifest->knows_listings());
  CHECK(f.manifest->find_listing(digest_number(1)) == std::vector<RelPath>{path_of("a/b")});
  CHECK(f.manifest->find_listing(digest_number(2)) == std::vector<RelPath>{RelPath()});
  CHECK(f.manifest->find_listing(digest_number(3)) == std::vector<RelPath>{path_of("c")});
  f.manifest->remove(path_of("a"));
  CHECK(f.manifest->find_listing(digest_number(1)).empty());
}

TEST_CASE("extras of a directory are kept as they were last, and not too many", "[cache]") {
  Fixture f;
  const std::vector<std::string> names{"a", "b\nc"};
  CHECK(f.manifest->extras(path_of("d")).empty());
  f.manifest->note_extras(path_of("d"), names);
  f.reopen();
  CHECK(f.manifest->extras(path_of("d")) == names);
  CHECK(f.manifest->extras(RelPath()).empty());
  f.manifest->note_extras(path_of("d"), std::vector<std::string>(400, std::string(200, 'n')));
  CHECK(f.manifest->extras(path_of("d")).empty());
  f.manifest->note_extras(path_of("d"), names);
  f.manifest->note_extras(path_of("d"), {});
  CHECK(f.manifest->extras(path_of("d")).empty());
}

TEST_CASE("a copied file inherits the signature", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  f.manifest->stage_piece(path_of("x"), 0, piece_bytes(1));
  f.manifest->stage_piece(path_of("x"), 1, piece_bytes(2));
  commit(*f.manifest, "x", 1);
  f.manifest->stage_signature_of(path_of("y"), path_of("x"));
  commit(*f.manifest, "y", 2);
  f.manifest->remove(path_of("x"));
  CHECK(f.manifest->piece(path_of("y"), 0) == piece_bytes(1));
  CHECK(f.manifest->piece(path_of("y"), 1) == piece_bytes(2));
  CHECK_FALSE(f.manifest->piece(path_of("y"), 2));
}

// As when a connection is lost and the file is another one when the run goes on.
TEST_CASE("another content of one run inherits no signature", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  f.manifest->stage_piece(path_of("x"), 0, piece_bytes(0));
  f.manifest->stage(path_of("x"), {1, 70'000, {1000, 1}, digest_number(1)});
  f.reopen();
  f.manifest->begin_run(k_first);
  f.manifest->begin_file(path_of("x"));
  commit(*f.manifest, "x", 2);
  CHECK_FALSE(f.manifest->piece(path_of("x"), 0));
}

TEST_CASE("a manifest of the first schema is carried on", "[cache]") {
  TempDirectory temp;
  Warnings warnings;
  {
    const auto manifest = Manifest::open(temp.path(), warnings.sink());
    manifest->begin_run(k_first);
    commit(*manifest, "d/x", 1);
  }
  {
    SQLite::Database database(temp.file("manifest.db"), SQLite::OPEN_READWRITE);
    database.exec(
        "DROP INDEX directories_by_listing; ALTER TABLE directories DROP COLUMN listing;"
        "ALTER TABLE directories DROP COLUMN extras; DROP TABLE bare_directories;"
        "PRAGMA user_version = 1");
  }
  const auto manifest = Manifest::open(temp.path(), warnings.sink());
  CHECK(manifest->find(path_of("d/x"), stat_of(staged_file(1))) == digest_number(1));
  manifest->note_listing(path_of("d"), digest_number(5));
  CHECK(manifest->find_listing(digest_number(5)) == std::vector<RelPath>{path_of("d")});
  CHECK(warnings.texts.empty());
}

TEST_CASE("another process reads what was flushed while one writes", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "x", 1);
  f.manifest->flush();
  commit(*f.manifest, "y", 2);
  const auto reader = Manifest::open(f.temp.path(), f.warnings.sink());
  CHECK(reader->find(path_of("x"), stat_of(staged_file(1))));
  CHECK_FALSE(reader->find(path_of("y"), stat_of(staged_file(2))));
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("a full disk ends the memory, not the run", "[cache]") {
  Fixture f;
  f.manifest->begin_run(k_first);
  commit(*f.manifest, "before", 1);
  f.manifest->flush();
  // The kernel refuses to let files grow, as it does when the disk is full.
  rlimit usual{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &usual) == 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{256 * 1024, usual.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  for (std::uint64_t i = 0; i < 20'000; ++i) commit(*f.manifest, "d/" + std::to_string(i), i);
  f.manifest->flush();
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &usual) == 0);
  std::signal(SIGXFSZ, handler);
  CHECK(f.warnings.texts.size() == 1);
  CHECK_FALSE(f.manifest->find(path_of("before"), stat_of(staged_file(1))));
  f.reopen();
  CHECK(f.manifest->find(path_of("before"), stat_of(staged_file(1))) == digest_number(1));
  CHECK(f.warnings.texts.size() == 1);
}

// Hidden: run by hand for the figures in docs/decisions.md. CPU time, so that other work does not count.
TEST_CASE("a manifest of a million files", "[.][bench]") {
  Fixture f;
  constexpr std::uint64_t k_rows = 1'000'000;
  const auto seconds_of = [](auto&& work) {
    const std::clock_t from = std::clock();
    work();
    return static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
  };
  const auto path = [](std::uint64_t i) {
    return path_of("some/directory/" + std::to_string(i / 100) + "/file-" + std::to_string(10'000'000 + i));
  };
  f.manifest->begin_run(k_first);
  const double staged = seconds_of([&] {
    for (std::uint64_t i = 0; i < k_rows; ++i) f.manifest->stage(path(i), staged_file(i));
  });
  const double confirmed = seconds_of([&] {
    f.manifest->confirm_all([](const RelPath& each) {
      return std::optional(stat_of(staged_file(std::stoull(std::string(each.name().substr(5))) - 10'000'000)));
    });
  });
  std::uint64_t found = 0;
  const double read = seconds_of([&] {
    for (std::uint64_t i = 0; i < k_rows; ++i) found += f.manifest->find(path(i), stat_of(staged_file(i))) ? 1U : 0U;
  });
  f.manifest.reset();
  WARN("stage " << staged << " s, confirm " << confirmed << " s, find " << read << " s, "
                << files::file_size(f.temp.file("manifest.db")) / k_rows << " bytes a row, found " << found);
}
