// SPDX-License-Identifier: Apache-2.0
// Bare directories: a fingerprint is found for exactly the directory it was recorded for; wrong rows are no rows; what
// is old or too much goes; reading does not write; both files that have the table come from older schemas.
#include "cache/bare_directories.hpp"

#include "cache/client_store.hpp"
#include "cache/manifest.hpp"
#include "cache/upkeep.hpp"
#include "unit/cache/temp.hpp"

namespace {

using namespace nb::cache_test;
using namespace nb::cache;
using std::chrono::days;

struct Fixture : ClientStore {
  std::int64_t number(const char* sql) {
    std::int64_t found = -1;
    store->with([&](Connection& connection) { found = connection.database().execAndGet(sql).getInt64(); });
    return found;
  }
  void exec(const char* sql) {
    store->with([&](Connection& connection) { connection.database().exec(sql); });
  }
  std::int64_t rows() { return number("SELECT COUNT(*) FROM bare_directories"); }
};

BareKey key_of(std::uint64_t inode) { return {"uuid:00+a", inode}; }

// More than one window, in steps; the last beyond what a signed number holds.
std::vector<std::uint64_t> many_inodes() {
  std::vector<std::uint64_t> inodes;
  for (std::uint64_t i = 1; i <= 100; ++i) inodes.push_back(i * 1000);
  inodes.push_back(~std::uint64_t{0});
  return inodes;
}

void record_many(Fixture& f) {
  BareDirectories bare(f.store, f.clock);
  for (const std::uint64_t inode : many_inodes()) bare.record(key_of(inode), digest_number(inode));
}

}  // namespace

TEST_CASE("a bare directory is found for exactly its files", "[cache]") {
  Fixture f;
  {
    BareDirectories bare(f.store, f.clock);
    bare.record(key_of(12), digest_number(1));
    CHECK(bare.find(key_of(12), digest_number(1)));  // from what is not written yet
  }
  f.reopen();
  BareDirectories bare(f.store, f.clock);
  CHECK(bare.find(key_of(12), digest_number(1)));
  CHECK_FALSE(bare.find(key_of(12), digest_number(2)));
  CHECK_FALSE(bare.find(key_of(13), digest_number(1)));
  CHECK_FALSE(bare.find({"uuid:00+u", 12}, digest_number(1)));
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("bare directories are found in any order", "[cache]") {
  Fixture f;
  record_many(f);
  BareDirectories bare(f.store, f.clock);
  std::vector<std::uint64_t> inodes = many_inodes();
  for (const std::uint64_t inode : inodes) CHECK(bare.find(key_of(inode), digest_number(inode)));
  for (auto inode = inodes.rbegin(); inode != inodes.rend(); ++inode) {
    CHECK(bare.find(key_of(*inode), digest_number(*inode)));
    CHECK_FALSE(bare.find(key_of(*inode - 1), digest_number(*inode)));
  }
}

TEST_CASE("a later fingerprint takes the place of an earlier one", "[cache]") {
  Fixture f;
  BareDirectories bare(f.store, f.clock);
  bare.record(key_of(12), digest_number(1));
  bare.flush();
  CHECK(bare.find(key_of(12), digest_number(1)));  // the rows around it are in memory now
  bare.record(key_of(12), digest_number(2));
  CHECK(bare.find(key_of(12), digest_number(2)));
  bare.flush();
  CHECK(bare.find(key_of(12), digest_number(2)));
  CHECK_FALSE(bare.find(key_of(12), digest_number(1)));
  CHECK(f.rows() == 1);
}

TEST_CASE("a damaged row is no row, and is written anew", "[cache]") {
  Fixture f;
  record_many(f);
  const char* damage =
      GENERATE("UPDATE bare_directories SET files = zeroblob(16)", "UPDATE bare_directories SET files = x'00'",
               "UPDATE bare_directories SET sum = sum + 1", "UPDATE bare_directories SET inode = inode + 1");
  INFO(damage);
  f.exec(damage);
  BareDirectories bare(f.store, f.clock);
  nb::hash::Digest zero;
  for (const std::uint64_t inode : many_inodes()) {
    CHECK_FALSE(bare.find(key_of(inode), digest_number(inode)));
    CHECK_FALSE(bare.find(key_of(inode), zero));
    CHECK_FALSE(bare.find(key_of(inode + 1), digest_number(inode)));
  }
  bare.record(key_of(1000), digest_number(1000));
  bare.flush();
  CHECK(bare.find(key_of(1000), digest_number(1000)));
}

TEST_CASE("finding writes nothing until a row has become old", "[cache]") {
  Fixture f;
  record_many(f);
  const auto changes = [&] { return f.number("SELECT total_changes()"); };
  const std::int64_t before = changes();
  {
    BareDirectories bare(f.store, f.clock);
    CHECK(bare.find(key_of(1000), digest_number(1000)));
    CHECK_FALSE(bare.find(key_of(1000), digest_number(1)));
  }
  CHECK(changes() == before);
  f.clock.now += days(7);
  {
    BareDirectories bare(f.store, f.clock);
    CHECK(bare.find(key_of(1000), digest_number(1000)));
  }
  CHECK(changes() == before + 1);
}

TEST_CASE("what was not met for long goes, and what is too much", "[cache]") {
  Fixture f;
  record_many(f);
  f.clock.now += days(60);
  {
    BareDirectories bare(f.store, f.clock);
    CHECK(bare.find(key_of(1000), digest_number(1000)));
    CHECK(bare.find(key_of(2000), digest_number(2000)));
  }
  CHECK(f.rows() == 101);
  f.clock.now += days(60);
  { BareDirectories(f.store, f.clock).record(key_of(7), digest_number(7)); }
  CHECK(f.rows() == 3);
  { BareDirectories(f.store, f.clock, {.unseen_days = 90, .rows = 2}).record(key_of(8), digest_number(8)); }
  CHECK(f.rows() == 2);
  BareDirectories bare(f.store, f.clock);
  CHECK(bare.find(key_of(7), digest_number(7)));
  CHECK(bare.find(key_of(8), digest_number(8)));
}

TEST_CASE("upkeep counts, prunes and clears bare directories", "[cache]") {
  Fixture f;
  record_many(f);
  CHECK(measure(*f.store)->bare_directories == 101);
  CHECK(prune(*f.store, {}, f.clock.now)->bare_directories == 0);
  PruneLimits limits;
  limits.bare_directories = 100;
  CHECK(prune(*f.store, limits, f.clock.now)->bare_directories == 1);
  CHECK(prune(*f.store, {}, f.clock.now + days(91))->bare_directories == 100);
  record_many(f);
  CHECK(clear(*f.store)->bare_directories == 101);
  CHECK(f.rows() == 0);
}

TEST_CASE("a memory of the second schema is carried on", "[cache]") {
  Fixture f;
  f.exec(
      "INSERT INTO known_sets(destination, source, generation) VALUES('h:/p', '/data', 9);"
      "DROP TABLE bare_directories; DROP TABLE hosts; DROP TABLE host_orders; DROP TABLE set_reports;"
      "DROP TABLE outcomes; PRAGMA user_version = 2");
  f.reopen();
  CHECK(f.number("SELECT generation FROM known_sets") == 9);
  CHECK(f.number("PRAGMA user_version") == k_client_schema_version);
  CHECK(f.rows() == 0);
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("the manifest has a table of its own, which takes part in its transactions", "[cache]") {
  Fixture f;
  const auto manifest = Manifest::open(f.temp.path(), f.warnings.sink());
  manifest->note_listing(*nb::RelPath::parse("d"), digest_number(5));  // leaves a transaction open
  BareDirectories bare(manifest->store(), f.clock);
  bare.record(key_of(12), digest_number(1));
  bare.flush();
  CHECK(bare.find(key_of(12), digest_number(1)));
  manifest->flush();
  const auto other = Manifest::open(f.temp.path(), f.warnings.sink());
  CHECK(BareDirectories(other->store(), f.clock).find(key_of(12), digest_number(1)));
  CHECK(other->find_listing(digest_number(5)).size() == 1);
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("without a store nothing is found and nothing fails", "[cache]") {
  FixedClock clock;
  BareDirectories bare(std::make_shared<Store>(), clock);
  bare.record(key_of(1), digest_number(1));
  bare.flush();
  CHECK_FALSE(bare.find(key_of(1), digest_number(1)));
}
