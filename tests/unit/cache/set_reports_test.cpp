// SPDX-License-Identifier: Apache-2.0
// What the client has learnt of its sets, and how its runs ended: found again, part by part, and forgotten together.
#include "cache/set_reports.hpp"

#include "cache/client_state.hpp"
#include "unit/cache/temp.hpp"

namespace {

using nb::cache::DrillRecord;
using nb::cache::RunKey;
using nb::cache::SetFacts;
using nb::cache::SetReports;
using namespace nb::cache_test;

constexpr SetFacts k_facts{std::uint64_t{5} << 40, 12, 1'700'000'000'000'000'001, 3};

}  // namespace

TEST_CASE("what was learnt of a set is found again by another process", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  {
    SetReports reports(nb::cache::open_client_store(temp.file("cache.db"), warnings.sink()));
    CHECK_FALSE(reports.find("h:/p").facts);
    reports.record_facts("h:/p", k_facts);
    reports.record_drill("h:/p", {7, 40, 98});
    reports.record_drill("h:/other", {8, 0, 100});
  }
  SetReports reports(nb::cache::open_client_store(temp.file("cache.db"), warnings.sink()));
  CHECK(reports.find("h:/p").facts == k_facts);
  CHECK(reports.find("h:/p").drill == DrillRecord{7, 40, 98});
  CHECK_FALSE(reports.find("h:/other").facts);
  CHECK(reports.find("h:/other").drill == DrillRecord{8, 0, 100});
  CHECK(warnings.texts.empty());
}

TEST_CASE("each part of a set's report is replaced by itself", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  SetReports reports(nb::cache::open_client_store(temp.file("cache.db"), warnings.sink()));
  reports.record_drill("h:/p", {7, 0, 98});
  reports.record_facts("h:/p", {1, 2, 3, 4});
  reports.record_facts("h:/p", k_facts);
  CHECK(reports.find("h:/p").facts == k_facts);
  CHECK(reports.find("h:/p").drill == DrillRecord{7, 0, 98});
}

TEST_CASE("outcomes are told apart by command, destination and sources", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  SetReports reports(nb::cache::open_client_store(temp.file("cache.db"), warnings.sink()));
  const RunKey run{"push", "h:/p", "/data\n/home\xff"};
  CHECK_FALSE(reports.last_outcome(run));
  reports.record_outcome(run, 10, 1);
  reports.record_outcome({"push", "h:/p", "/data"}, 23, 1);
  reports.record_outcome({"verify", "h:/p", "/data\n/home\xff"}, 40, 1);
  CHECK(reports.last_outcome(run) == 10);
  reports.record_outcome(run, 0, 2);
  CHECK(reports.last_outcome(run) == 0);
}

TEST_CASE("what is forgotten of a destination is forgotten whole", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const auto store = nb::cache::open_client_store(temp.file("cache.db"), warnings.sink());
  SetReports reports(store);
  nb::cache::ClientState state(store);
  state.record_push({"h:/p", "/data", std::nullopt, 1, 1, 0, 1, 1}, {});
  for (const char* destination : {"h:/p", "h:/q"}) {
    reports.record_facts(destination, k_facts);
    reports.record_outcome({"push", destination, "/data"}, 10, 1);
  }
  CHECK(state.forget("h:/p"));
  CHECK_FALSE(reports.find("h:/p").facts);
  CHECK_FALSE(reports.last_outcome({"push", "h:/p", "/data"}));
  CHECK(reports.find("h:/q").facts == k_facts);
  CHECK(reports.last_outcome({"push", "h:/q", "/data"}) == 10);
}

TEST_CASE("a file of the version before keeps what it holds and takes reports", "[cache]") {
  const TempDirectory temp;
  Warnings warnings;
  const std::string path = temp.file("cache.db");
  {
    nb::cache::ClientState state(nb::cache::open_client_store(path, warnings.sink()));
    state.record_push({"h:/p", "/data", std::nullopt, 9, 1, 0, 1, 1}, {});
  }
  {
    SQLite::Database database(path, SQLite::OPEN_READWRITE);
    database.exec("DROP TABLE set_reports; DROP TABLE outcomes; PRAGMA user_version = 5");
  }
  const auto store = nb::cache::open_client_store(path, warnings.sink());
  CHECK(nb::cache::ClientState(store).list_sets().size() == 1);
  SetReports(store).record_facts("h:/p", k_facts);
  CHECK(SetReports(store).find("h:/p").facts == k_facts);
  CHECK(warnings.texts.empty());
  SQLite::Database database(path, SQLite::OPEN_READONLY);
  CHECK(database.execAndGet("PRAGMA user_version").getInt() == 6);
}
