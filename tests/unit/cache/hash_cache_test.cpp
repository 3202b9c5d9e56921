// SPDX-License-Identifier: Apache-2.0
// The hash cache: a digest comes back for exactly the state it was recorded for, under its secret and file system; what
// may still change without showing it is not recorded; wrong rows are no rows.
#include "cache/hash_cache.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include <ctime>
#include <thread>

#include "cache/client_hosts.hpp"
#include "cache/upkeep.hpp"
#include "unit/cache/temp.hpp"

namespace {

using namespace nb::cache_test;
using namespace nb::cache;
using std::chrono::days;
using std::chrono::milliseconds;

constexpr std::int64_t k_old = 1'600'000'000;  // long before FixedClock's now

DigestKey key_of(std::uint64_t inode) {
  return {"uuid:00", 7, inode, 1000 + inode, {k_old, 1}, {k_old + 5, 123'456'789}};
}

using Fixture = ClientStore;

}  // namespace

TEST_CASE("a digest is found for exactly its state", "[cache]") {
  Fixture f;
  const DigestKey key = key_of(12);
  {
    HashCache cache(f.store, f.clock);
    cache.record(key, digest_number(1), f.clock.now);
    CHECK(cache.find(key) == digest_number(1));  // from what is not written yet
  }
  f.reopen();
  HashCache cache(f.store, f.clock);
  CHECK(cache.find(key) == digest_number(1));
  DigestKey other = key;
  other.file_system = "uuid:01";
  CHECK_FALSE(cache.find(other));
  other = key;
  other.secret = 8;
  CHECK_FALSE(cache.find(other));
  other = key;
  ++other.inode;
  CHECK_FALSE(cache.find(other));
  other = key;
  ++other.size;
  CHECK_FALSE(cache.find(other));
  other = key;
  ++other.mtime.nsec;
  CHECK_FALSE(cache.find(other));
  other = key;
  ++other.ctime.nsec;
  CHECK_FALSE(cache.find(other));
  CHECK(f.warnings.texts.empty());
}

TEST_CASE("a later state of an inode takes the place of an earlier one", "[cache]") {
  Fixture f;
  HashCache cache(f.store, f.clock);
  DigestKey key = key_of(12);
  cache.record(key, digest_number(1), f.clock.now);
  cache.flush();
  CHECK(cache.find(key) == digest_number(1));  // the rows around it are in memory now
  DigestKey later = key;
  later.ctime.sec += 10;
  cache.record(later, digest_number(2), f.clock.now);
  CHECK_FALSE(cache.find(key));
  cache.flush();
  CHECK(cache.find(later) == digest_number(2));
  CHECK_FALSE(cache.find(key));
}

TEST_CASE("what could change once more in the same tick is not recorded", "[cache]") {
  const nb::WallTime began{std::chrono::seconds(k_old + 100)};
  const nb::fs::Timestamp old{k_old, 0};
  const auto coarse = [](std::int64_t sec) { return nb::fs::Timestamp{sec, 5'000'000}; };
  CHECK(is_settled(old, {k_old + 99, 899'999'999}, began));        // fine times: more than 100 ms
  CHECK_FALSE(is_settled(old, {k_old + 99, 900'000'001}, began));  // less
  CHECK(is_settled(old, coarse(k_old + 97), began));               // coarse times: more than 2 s
  CHECK_FALSE(is_settled(old, coarse(k_old + 98), began));
  CHECK_FALSE(is_settled(old, {k_old, 0}, began));                  // whole seconds: as image tools write them
  CHECK_FALSE(is_settled({k_old + 100, 5}, {k_old, 1}, began));     // mtime counts too
  CHECK_FALSE(is_settled(old, {k_old + 200, 1}, began));            // the future
  CHECK_FALSE(is_settled({std::int64_t{1} << 40, 0}, old, began));  // what does not fit
}

TEST_CASE("an unsettled file leaves no row", "[cache]") {
  Fixture f;
  HashCache cache(f.store, f.clock);
  DigestKey key = key_of(3);
  key.ctime = {1'700'000'000, 1};
  cache.record(key, digest_number(1), f.clock.now);
  CHECK_FALSE(cache.find(key));
  cache.flush();
  CHECK(measure(*f.store)->digests == 0);
}

TEST_CASE("a file system without a name is not remembered", "[cache]") {
  Fixture f;
  HashCache cache(f.store, f.clock);
  DigestKey key = key_of(3);
  key.file_system.clear();
  cache.record(key, digest_number(1), f.clock.now);
  CHECK_FALSE(cache.find(key));
}

TEST_CASE("many rows come back, in any order", "[cache]") {
  Fixture f;
  constexpr std::uint64_t k_rows = 20'000;
  {
    HashCache cache(f.store, f.clock);
    for (std::uint64_t i = 0; i < k_rows; ++i) cache.record(key_of(i * 37 % k_rows), digest_number(i), f.clock.now);
  }
  HashCache cache(f.store, f.clock);
  std::uint64_t right = 0;
  for (std::uint64_t i = k_rows; i-- > 0;) right += cache.find(key_of(i * 37 % k_rows)) == digest_number(i) ? 1U : 0U;
  CHECK(right == k_rows);
  CHECK(measure(*f.store)->digests == k_rows);
}

TEST_CASE("rows are written after a second even if they are few", "[cache]") {
  Fixture f;
  HashCache cache(f.store, f.clock);
  cache.record(key_of(1), digest_number(1), f.clock.now);
  CHECK(measure(*f.store)->digests == 0);
  f.clock.now += milliseconds(1100);
  cache.record(key_of(2), digest_number(2), f.clock.now);
  CHECK(measure(*f.store)->digests == 2);
}

TEST_CASE("a row that was altered is no row", "[cache]") {
  Fixture f;
  {
    HashCache cache(f.store, f.clock);
    cache.record(key_of(1), digest_number(1), f.clock.now);
    cache.record(key_of(2), digest_number(2), f.clock.now);
  }
  {
    SQLite::Database database(f.path, SQLite::OPEN_READWRITE);
    database.exec("UPDATE digests SET digest = x'00000000000000000000000000000000' WHERE inode = 1");
  }
  HashCache cache(f.store, f.clock);
  CHECK_FALSE(cache.find(key_of(1)));
  CHECK(cache.find(key_of(2)) == digest_number(2));
}

TEST_CASE("a row under another's number is no row", "[cache]") {
  Fixture f;
  {
    HashCache cache(f.store, f.clock);
    cache.record(key_of(1), digest_number(1), f.clock.now);
  }
  {
    SQLite::Database database(f.path, SQLite::OPEN_READWRITE);
    database.exec("UPDATE spaces SET file_system = 'uuid:ff'");
  }
  HashCache cache(f.store, f.clock);
  DigestKey key = key_of(1);
  CHECK_FALSE(cache.find(key));
  key.file_system = "uuid:ff";
  CHECK_FALSE(cache.find(key));
}

TEST_CASE("without a store the cache finds nothing and says so once", "[cache]") {
  Warnings warnings;
  FixedClock clock;
  HashCache cache(open_client_store("/proc/self/nowhere/cache.db", warnings.sink()), clock);
  cache.record(key_of(1), digest_number(1), clock.now);
  cache.flush();
  CHECK_FALSE(cache.find(key_of(1)));
  CHECK(warnings.texts.size() == 1);
}

TEST_CASE("damage costs what was stored, once", "[cache]") {
  Fixture f;
  {
    HashCache cache(f.store, f.clock);
    for (std::uint64_t i = 0; i < 5000; ++i) cache.record(key_of(i), digest_number(i), f.clock.now);
  }
  f.store.reset();
  const auto size = files::file_size(f.path);
  REQUIRE(size > 100'000);
  {
    std::fstream file(f.path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(4096);
    file << std::string(size - 4096, '\x5a');
  }
  f.reopen();
  HashCache cache(f.store, f.clock);
  for (std::uint64_t i = 0; i < 200; ++i) CHECK_FALSE(cache.find(key_of(i)));
  cache.record(key_of(1), digest_number(9), f.clock.now);
  cache.flush();
  CHECK(cache.find(key_of(1)) == digest_number(9));
  CHECK(f.warnings.texts.size() == 1);
}

TEST_CASE("several threads and processes at once lose nothing", "[cache]") {
  Fixture f;
  std::vector<std::thread> threads;
  HashCache shared(f.store, f.clock);
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&f, &shared, t] {
      const auto own_store = open_client_store(f.path, {});
      HashCache own(own_store, f.clock);
      for (std::uint64_t i = 0; i < 500; ++i) {
        HashCache& cache = i % 2 == 0 ? shared : own;
        cache.record(key_of(t * 1000 + i), digest_number(i), f.clock.now);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  shared.flush();
  CHECK(measure(*f.store)->digests == 2000);
}

TEST_CASE("pruning takes what was not met for long, and what is met stays", "[cache]") {
  Fixture f;
  {
    HashCache cache(f.store, f.clock);
    cache.record(key_of(1), digest_number(1), f.clock.now);
    cache.record(key_of(2), digest_number(2), f.clock.now);
  }
  f.clock.now += days(60);
  {
    HashCache cache(f.store, f.clock);
    CHECK(cache.find(key_of(1)) == digest_number(1));
  }
  f.clock.now += days(60);
  const auto pruned = prune(*f.store, {}, f.clock.now);
  REQUIRE(pruned);
  CHECK(pruned->digests == 1);
  HashCache cache(f.store, f.clock);
  CHECK(cache.find(key_of(1)) == digest_number(1));
  CHECK_FALSE(cache.find(key_of(2)));
}

TEST_CASE("pruning holds to the size limit, the oldest going first", "[cache]") {
  Fixture f;
  {
    HashCache cache(f.store, f.clock);
    for (std::uint64_t i = 0; i < 100; ++i) cache.record(key_of(i), digest_number(i), f.clock.now);
  }
  f.clock.now += days(1);
  {
    HashCache cache(f.store, f.clock);
    for (std::uint64_t i = 100; i < 200; ++i) cache.record(key_of(i), digest_number(i), f.clock.now);
  }
  PruneLimits limits;
  limits.digest_bytes = 100 * 90;
  CHECK(prune(*f.store, limits, f.clock.now)->digests == 100);
  HashCache cache(f.store, f.clock);
  CHECK_FALSE(cache.find(key_of(5)));
  CHECK(cache.find(key_of(150)) == digest_number(150));
}

TEST_CASE("tending prunes once a week", "[cache]") {
  Fixture f;
  {
    HashCache cache(f.store, f.clock);
    cache.record(key_of(1), digest_number(1), f.clock.now);
  }
  tend(*f.store, f.clock.now);
  f.clock.now += days(6);
  {
    SQLite::Database database(f.path, SQLite::OPEN_READWRITE);
    database.exec("UPDATE digests SET seen_day = 5");
  }
  tend(*f.store, f.clock.now);
  CHECK(measure(*f.store)->digests == 1);
  f.clock.now += days(1);
  tend(*f.store, f.clock.now);
  CHECK(measure(*f.store)->digests == 0);
}

TEST_CASE("clearing takes digests, signatures and hosts and leaves the known sets", "[cache]") {
  Fixture f;
  {
    HashCache cache(f.store, f.clock);
    cache.record(key_of(1), digest_number(1), f.clock.now);
  }
  f.store->with([](Connection& connection) {
    connection.database().exec("INSERT INTO known_sets(destination, source) VALUES('h:/p', '/d')");
  });
  ClientHosts hosts(f.store);
  nb::ssh::AlgorithmLists order;
  order.ciphers = "aes128-ctr";
  hosts.record("h", {});
  hosts.save_order("h", order, f.clock.now);
  hosts.save_order("other", order, f.clock.now);
  const auto cleared = clear(*f.store);
  REQUIRE(cleared);
  CHECK(cleared->digests == 1);
  const auto use = measure(*f.store);
  CHECK(use->digests == 0);
  CHECK(use->sets == 1);
  CHECK(cleared->hosts == 2);
  CHECK_FALSE(hosts.find("h"));
  CHECK_FALSE(hosts.measured_order("h").ciphers);
  CHECK_FALSE(hosts.measured_order("other").ciphers);
}

// Hidden: run by hand for the figures in docs/decisions.md. CPU time, so that other work does not count.
TEST_CASE("a million rows", "[.][bench]") {
  Fixture f;
  constexpr std::uint64_t k_rows = 1'000'000;
  const auto seconds_of = [](auto&& work) {
    const std::clock_t from = std::clock();
    work();
    return static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
  };
  HashCache cache(f.store, f.clock);
  const double written = seconds_of([&] {
    for (std::uint64_t i = 0; i < k_rows; ++i) cache.record(key_of(i), digest_number(i), f.clock.now);
    cache.flush();
  });
  std::uint64_t found = 0;
  const double in_order = seconds_of([&] {
    for (std::uint64_t i = 0; i < k_rows; ++i) found += cache.find(key_of(i)) ? 1U : 0U;
  });
  const double shuffled_in_thousands = seconds_of([&] {
    for (std::uint64_t i = 0; i < k_rows; ++i) {
      found += cache.find(key_of(i / 1000 * 1000 + i * 371 % 1000)) ? 1U : 0U;
    }
  });
  const double scattered = seconds_of([&] {
    for (std::uint64_t i = 0; i < k_rows / 10; ++i) found += cache.find(key_of(i * 7'919 % k_rows)) ? 1U : 0U;
  });
  const auto use = measure(*f.store);
  WARN("write " << written << " s, in order " << in_order << " s, shuffled in thousands " << shuffled_in_thousands
                << " s, a tenth of them scattered " << scattered << " s, " << use->file_bytes / k_rows
                << " bytes a row, found " << found);
}
