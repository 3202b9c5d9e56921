// SPDX-License-Identifier: Apache-2.0
// SetReports: what this client has learnt of a set beside its pushes (how much history it keeps, its last scrub, its
// last drill), and how commands ended last time, so that a change can be told (--mail-on-change). Losing it costs these
// lines of `status` until the next contact, and perhaps one mail. ClientState::forget takes it away.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cache/client_store.hpp"

namespace nb::cache {

// As the set's own machine told it at the last push. Times since 1970; 0: never, or not told.
struct SetFacts {
  std::uint64_t history_bytes = 0;
  std::uint64_t history_generations = 0;  // 0: not told
  std::int64_t last_scrub_ns = 0;
  std::uint64_t damaged_files = 0;
  friend bool operator==(const SetFacts&, const SetFacts&) = default;
};

struct DrillRecord {
  std::int64_t time_ns = 0;
  int exit_code = 0;
  std::uint64_t files = 0;  // that were restored and compared
  friend bool operator==(const DrillRecord&, const DrillRecord&) = default;
};

struct SetReport {
  std::optional<SetFacts> facts;
  std::optional<DrillRecord> drill;
};

// Which runs are told apart: sources one a line, raw.
struct RunKey {
  std::string command;
  std::string destination;
  std::string sources;
};

// Destinations are those of ClientState. Any thread may call.
class SetReports {
 public:
  explicit SetReports(std::shared_ptr<Store> store) : m_store(std::move(store)) {}

  // What is known; empty where nothing is.
  SetReport find(const std::string& destination);
  // Each replaces its own part.
  void record_facts(const std::string& destination, const SetFacts& facts);
  void record_drill(const std::string& destination, const DrillRecord& drill);

  // The exit code of the last run that was recorded.
  std::optional<int> last_outcome(const RunKey& run);
  void record_outcome(const RunKey& run, int exit_code, std::int64_t time_ns);

 private:
  std::shared_ptr<Store> m_store;
};

// The step of the client's schema that makes the tables, and what shows that they are there.
inline constexpr const char* k_make_set_reports = R"sql(
CREATE TABLE set_reports(
  destination TEXT NOT NULL PRIMARY KEY,
  history_bytes INTEGER, history_generations INTEGER, last_scrub_ns INTEGER, damaged_files INTEGER,
  last_drill_ns INTEGER, drill_outcome INTEGER, drill_files INTEGER) WITHOUT ROWID;
CREATE TABLE outcomes(
  command TEXT NOT NULL, destination TEXT NOT NULL, sources TEXT NOT NULL,
  exit_code INTEGER NOT NULL, ended_ns INTEGER NOT NULL,
  PRIMARY KEY(command, destination, sources)) WITHOUT ROWID;
)sql";
inline constexpr const char* k_probe_set_reports =
    "SELECT destination, history_bytes, history_generations, last_scrub_ns, damaged_files, last_drill_ns,"
    " drill_outcome, drill_files FROM set_reports LIMIT 1";
inline constexpr const char* k_probe_outcomes =
    "SELECT command, destination, sources, exit_code, ended_ns FROM outcomes LIMIT 1";

}  // namespace nb::cache
