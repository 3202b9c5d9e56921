// SPDX-License-Identifier: Apache-2.0
#include "cache/set_reports.hpp"

#include <SQLiteCpp/SQLiteCpp.h>

#include "cache/sums.hpp"

namespace nb::cache {
namespace {

constexpr const char* k_find =
    "SELECT history_bytes, history_generations, last_scrub_ns, damaged_files, last_drill_ns, drill_outcome, drill_files"
    " FROM set_reports WHERE destination = ?";
constexpr const char* k_record_facts =
    "INSERT INTO set_reports(destination, history_bytes, history_generations, last_scrub_ns, damaged_files)"
    " VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(destination) DO UPDATE SET"
    " history_bytes = ?2, history_generations = ?3, last_scrub_ns = ?4, damaged_files = ?5";
constexpr const char* k_record_drill =
    "INSERT INTO set_reports(destination, last_drill_ns, drill_outcome, drill_files)"
    " VALUES(?1, ?2, ?3, ?4) ON CONFLICT(destination) DO UPDATE SET"
    " last_drill_ns = ?2, drill_outcome = ?3, drill_files = ?4";
constexpr const char* k_find_outcome =
    "SELECT exit_code FROM outcomes WHERE command = ? AND destination = ? AND sources = ?";
constexpr const char* k_record_outcome =
    "INSERT OR REPLACE INTO outcomes(command, destination, sources, exit_code, ended_ns) VALUES(?, ?, ?, ?, ?)";

void bind_run(SQLite::Statement& statement, const RunKey& run) {
  statement.bind(1, run.command);
  statement.bind(2, run.destination);
  statement.bind(3, run.sources);
}

SetReport report_of(const SQLite::Statement& row) {
  SetReport report;
  if (!row.getColumn(1).isNull()) {
    report.facts = SetFacts{to_unsigned(row.getColumn(0).getInt64()), to_unsigned(row.getColumn(1).getInt64()),
                            row.getColumn(2).getInt64(), to_unsigned(row.getColumn(3).getInt64())};
  }
  if (!row.getColumn(4).isNull()) {
    report.drill =
        DrillRecord{row.getColumn(4).getInt64(), row.getColumn(5).getInt(), to_unsigned(row.getColumn(6).getInt64())};
  }
  return report;
}

}  // namespace

SetReport SetReports::find(const std::string& destination) {
  SetReport report;
  m_store->with([&](Connection& connection) {
    report = {};
    SQLite::Statement query(connection.database(), k_find);
    query.bind(1, destination);
    if (query.executeStep()) report = report_of(query);
  });
  return report;
}

void SetReports::record_facts(const std::string& destination, const SetFacts& facts) {
  m_store->with([&](Connection& connection) {
    SQLite::Statement record(connection.database(), k_record_facts);
    record.bind(1, destination);
    record.bind(2, to_signed(facts.history_bytes));
    record.bind(3, to_signed(facts.history_generations));
    record.bind(4, facts.last_scrub_ns);
    record.bind(5, to_signed(facts.damaged_files));
    record.exec();
  });
}

void SetReports::record_drill(const std::string& destination, const DrillRecord& drill) {
  m_store->with([&](Connection& connection) {
    SQLite::Statement record(connection.database(), k_record_drill);
    record.bind(1, destination);
    record.bind(2, drill.time_ns);
    record.bind(3, drill.exit_code);
    record.bind(4, to_signed(drill.files));
    record.exec();
  });
}

std::optional<int> SetReports::last_outcome(const RunKey& run) {
  std::optional<int> exit_code;
  m_store->with([&](Connection& connection) {
    exit_code.reset();
    SQLite::Statement query(connection.database(), k_find_outcome);
    bind_run(query, run);
    if (query.executeStep()) exit_code = query.getColumn(0).getInt();
  });
  return exit_code;
}

void SetReports::record_outcome(const RunKey& run, int exit_code, std::int64_t time_ns) {
  m_store->with([&](Connection& connection) {
    SQLite::Statement record(connection.database(), k_record_outcome);
    bind_run(record, run);
    record.bind(4, exit_code);
    record.bind(5, time_ns);
    record.exec();
  });
}

}  // namespace nb::cache
