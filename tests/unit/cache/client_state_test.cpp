// SPDX-License-Identifier: Apache-2.0
// The client's memory: what is recorded comes back, damage is set aside once, an unusable place is no error, and
// several processes (here: connections) can work at once.
#include "cache/client_state.hpp"

#include <SQLiteCpp/SQLiteCpp.h>
#include <atomic>
#include <thread>

#include "unit/cache/temp.hpp"

namespace {

using nb::cache::ClientState;
using nb::cache::KnownSet;
using namespace nb::cache_test;
std::unique_ptr<ClientState> open_state(const std::string& path, nb::cache::Warn warn) {
  return std::make_unique<ClientState>(nb::cache::open_client_store(path, std::move(warn)));
}

KnownSet sample(const std::string& destination, const std::string& source, std::byte first_id_byte) {
  KnownSet set;
  set.destination = destination;
  set.source = source;
  set.set = nb::cache::SetId{first_id_byte};
  set.generation = 7;
  set.last_push_ns = 1'700'000'000'000'000'001;
  set.bytes = 1ULL << 40;
  set.files = 300'000;
  return set;
}

}  // namespace

TEST_CASE("a recorded push is found again by another process", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const std::string odd = "h:/p\xff\n";
  {
    const auto state = open_state(temp.file("a/b/cache.db"), warnings.sink());
    state->record_push(sample(odd, "/data", std::byte{1}), {"/data/usb", "/data/\xfe"});
  }
  const auto state = open_state(temp.file("a/b/cache.db"), warnings.sink());
  const auto found = state->find_set(odd);
  REQUIRE(found);
  CHECK(found->set == nb::cache::SetId{std::byte{1}});
  CHECK(found->generation == 7);
  CHECK(found->last_push_ns == 1'700'000'000'000'000'001);
  CHECK(found->bytes == 1ULL << 40);
  CHECK(found->files == 300'000);
  CHECK(state->find_mounts(odd, "/data") == std::vector<std::string>{"/data/usb", "/data/\xfe"});
  CHECK_FALSE(state->find_set("h:/other"));
  CHECK(state->find_mounts(odd, "/other").empty());
  CHECK(warnings.texts.empty());
}

TEST_CASE("the file is private whatever it was before", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  (void)open_state(temp.file("d/cache.db"), warnings.sink());
  CHECK(mode_of(temp.file("d")) == 0700);
  CHECK(mode_of(temp.file("d/cache.db")) == 0600);
  REQUIRE(::chmod(temp.file("d/cache.db").c_str(), 0644) == 0);
  (void)open_state(temp.file("d/cache.db"), warnings.sink());
  CHECK(mode_of(temp.file("d/cache.db")) == 0600);
}

TEST_CASE("the newest push of a destination counts, and replaces its mounts", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const auto state = open_state(temp.file("cache.db"), warnings.sink());
  auto older = sample("h:/p", "/home", std::byte{1});
  older.last_push_ns = 5;
  state->record_push(older, {"/home/m"});
  state->record_push(sample("h:/p", "/data", std::byte{2}), {"/data/m"});
  CHECK(state->find_set("h:/p")->source == "/data");
  state->record_push(sample("h:/p", "/data", std::byte{2}), {});
  CHECK(state->find_mounts("h:/p", "/data").empty());
  CHECK(state->find_mounts("h:/p", "/home") == std::vector<std::string>{"/home/m"});
  CHECK(state->list_sets().size() == 2);
}

TEST_CASE("a failed push keeps what the last good one left, and makes no row of its own", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const auto state = open_state(temp.file("cache.db"), warnings.sink());
  state->record_failure("h:/new", "/data", 10);
  CHECK(state->list_sets().empty());
  state->record_push(sample("h:/p", "/data", std::byte{1}), {});
  state->record_failure("h:/p", "/data", 44);
  const auto found = state->find_set("h:/p");
  REQUIRE(found);
  CHECK(found->last_exit == 44);
  CHECK(found->generation == 7);
}

TEST_CASE("one source of a destination is forgotten, the others stay", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const auto state = open_state(temp.file("cache.db"), warnings.sink());
  state->record_push(sample("h:/p", "/data", std::byte{1}), {"/data/m"});
  state->record_push(sample("h:/p", "/data\n/home", std::byte{1}), {"/data/m"});
  state->record_push(sample("h:/q", "/data", std::byte{2}), {"/data/m"});
  state->forget_source("h:/p", "/data");
  REQUIRE(state->list_sets().size() == 2);
  CHECK(state->list_sets().front().source == "/data\n/home");
  CHECK(state->find_mounts("h:/p", "/data").empty());
  CHECK(state->find_mounts("h:/p", "/data\n/home").size() == 1);
  CHECK(state->find_mounts("h:/q", "/data").size() == 1);
}

TEST_CASE("forget removes a destination with its mounts", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const auto state = open_state(temp.file("cache.db"), warnings.sink());
  state->record_push(sample("h:/p", "/data", std::byte{1}), {"/data/m"});
  CHECK(state->forget("h:/p"));
  CHECK_FALSE(state->forget("h:/p"));
  CHECK(state->list_sets().empty());
  CHECK(state->find_mounts("h:/p", "/data").empty());
}

TEST_CASE("a file that is no database is set aside with one warning", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  write_file(temp.file("cache.db"), std::string(8192, 'x'));
  write_file(temp.file("cache.db.damaged-1"), "an earlier one");
  const auto state = open_state(temp.file("cache.db"), warnings.sink());
  REQUIRE(warnings.texts.size() == 1);
  CHECK(warnings.texts[0].find("damaged-2") != std::string::npos);
  CHECK(files::file_size(temp.file("cache.db.damaged-2")) == 8192);
  state->record_push(sample("h:/p", "/data", std::byte{1}), {});
  CHECK(state->find_set("h:/p"));
  CHECK(warnings.texts.size() == 1);
}

TEST_CASE("damage inside the tables is set aside when it is met", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const std::string path = temp.file("cache.db");
  {
    const auto state = open_state(path, warnings.sink());
    for (int i = 0; i < 200; ++i) state->record_push(sample("h:/" + std::to_string(i), "/d", std::byte{1}), {});
  }
  const auto size = files::file_size(path);
  REQUIRE(size > 3 * 4096);
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096);  // the first page, with header and schema, stays good
    file << std::string(size - 4096, '\x5a');
  }
  const auto state = open_state(path, warnings.sink());
  CHECK_FALSE(state->find_set("h:/7"));
  CHECK(warnings.texts.size() == 1);
  CHECK(files::exists(path + ".damaged-1"));
  state->record_push(sample("h:/p", "/data", std::byte{1}), {});
  CHECK(state->find_set("h:/p"));
}

TEST_CASE("a file of a newer version is left alone", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const std::string path = temp.file("cache.db");
  {
    SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec("CREATE TABLE later(x); PRAGMA user_version = 99");
  }
  const auto state = open_state(path, warnings.sink());
  state->record_push(sample("h:/p", "/data", std::byte{1}), {});
  CHECK_FALSE(state->find_set("h:/p"));
  CHECK(warnings.texts.size() == 1);
  SQLite::Database database(path, SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("PRAGMA user_version").getInt() == 99);
}

TEST_CASE("an empty database is brought to the present schema", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const std::string path = temp.file("cache.db");
  { SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE); }
  const auto state = open_state(path, warnings.sink());
  state->record_push(sample("h:/p", "/data", std::byte{1}), {});
  CHECK(state->find_set("h:/p"));
  SQLite::Database database(path, SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("PRAGMA user_version").getInt() == nb::cache::k_client_schema_version);
  CHECK(database.execAndGet("PRAGMA journal_mode").getString() == "wal");
}

TEST_CASE("a place that cannot be used means no memory and one warning", "[cache]") {
  Warnings warnings;
  const auto state = open_state("/proc/self/nowhere/cache.db", warnings.sink());
  state->record_push(sample("h:/p", "/data", std::byte{1}), {});
  CHECK(state->list_sets().empty());
  CHECK_FALSE(state->forget("h:/p"));
  CHECK(warnings.texts.size() == 1);
}

TEST_CASE("several new processes at once lose nothing", "[cache]") {
  const TempDirectory temp;
  const std::string path = temp.file("cache.db");
  std::atomic<int> warned{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&path, &warned, t] {
      const auto state = open_state(path, [&warned](const std::string&) { ++warned; });
      for (int i = 0; i < 25; ++i) {
        state->record_push(sample("h:/" + std::to_string(t), "/" + std::to_string(i), std::byte{1}), {"/m"});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(warned == 0);
  CHECK(open_state(path, {})->list_sets().size() == 100);
}

TEST_CASE("several processes that meet the same damage keep one copy of it", "[cache]") {
  const TempDirectory temp;
  const std::string path = temp.file("cache.db");
  write_file(path, std::string(8192, 'x'));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&path, t] {
      const auto state = open_state(path, {});
      state->record_push(sample("h:/" + std::to_string(t), "/d", std::byte{1}), {});
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(files::exists(path + ".damaged-1"));
  CHECK_FALSE(files::exists(path + ".damaged-2"));
  CHECK(open_state(path, {})->list_sets().size() == 4);
}

TEST_CASE("a file of the first version keeps what it holds", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const std::string path = temp.file("cache.db");
  {
    SQLite::Database database(path, SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    database.exec(
        "CREATE TABLE known_sets(destination TEXT NOT NULL, source TEXT NOT NULL, uuid BLOB,"
        " generation INTEGER NOT NULL DEFAULT 0, last_push_ns INTEGER NOT NULL DEFAULT 0,"
        " last_exit INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, files INTEGER NOT NULL DEFAULT 0,"
        " PRIMARY KEY(destination, source)) WITHOUT ROWID;"
        "CREATE TABLE mounts(destination TEXT NOT NULL, source TEXT NOT NULL, path TEXT NOT NULL,"
        " PRIMARY KEY(destination, source, path)) WITHOUT ROWID;"
        "INSERT INTO known_sets VALUES('h:/p', '/data', x'000102030405060708090a0b0c0d0e0f', 9, 5, 0, 1, 2);"
        "INSERT INTO mounts VALUES('h:/p', '/data', '/data/usb');"
        "PRAGMA user_version = 1");
  }
  const auto state = open_state(path, warnings.sink());
  REQUIRE(state->find_set("h:/p"));
  CHECK(state->find_set("h:/p")->generation == 9);
  CHECK(state->find_mounts("h:/p", "/data") == std::vector<std::string>{"/data/usb"});
  CHECK(warnings.texts.empty());
  SQLite::Database database(path, SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("PRAGMA user_version").getInt() == nb::cache::k_client_schema_version);
  CHECK(database.execAndGet("SELECT COUNT(*) FROM digests").getInt() == 0);
}
