// SPDX-License-Identifier: Apache-2.0
// status: what this client remembers of its pushes. Touches no network and no set. With --max-age its exit code watches
// the backups; what is not known counts as too old there, so that a lost memory does not look like good news.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/text.hpp"
#include "cache/client_state.hpp"
#include "cli/commands.hpp"
#include "cli/endpoints.hpp"
#include "cli/json_events.hpp"
#include "cli/memory.hpp"
#include "cli/print.hpp"
#include "cli/status_table.hpp"
#include "cli/terminal.hpp"

namespace nb::cli {
namespace {

void keep_only(const std::string& destination, std::vector<cache::KnownSet>& sets) {
  const auto other = [&](const cache::KnownSet& set) { return set.destination != destination; };
  sets.erase(std::remove_if(sets.begin(), sets.end(), other), sets.end());
}

void print_rows(const Settings& settings, const std::vector<StatusRow>& rows) {
  if (settings.json) {
    for (const StatusRow& row : rows) print_out("{}\n", json_status_row(row));
  } else if (!rows.empty()) {
    const std::string table = status_table(rows);
    const bool fits = ::isatty(STDOUT_FILENO) == 0 || width_of(table) <= terminal_columns(stdout);
    print_out("{}", fits ? table : status_blocks(rows));
  }
}

// With a limit of age only the sources that are older: those that are not pushed any more, beside others that are.
Status forget(const Settings& settings, const std::optional<std::string>& destination, cache::ClientState& memory,
              Clock& clock) {
  if (!destination) return fail(Errc::usage, "--forget needs a destination");
  std::vector<cache::KnownSet> sets = memory.list_sets();
  keep_only(*destination, sets);
  if (sets.empty()) return fail(Errc::path, "this client has never pushed to " + *destination);
  auto rows = status_rows(std::move(sets), clock.wall(), settings.max_age);
  const auto fresh = std::stable_partition(rows.begin(), rows.end(), [](const StatusRow& row) { return row.stale; });
  if (fresh == rows.end() || !settings.max_age) {
    memory.forget(*destination);
    return {};
  }
  std::for_each(rows.begin(), fresh, [&](const StatusRow& row) { memory.forget_source(*destination, row.set.source); });
  return {};
}

Status show(const Settings& settings, const std::optional<std::string>& destination, cache::ClientState& memory,
            cache::SetReports& reports, Clock& clock) {
  std::vector<cache::KnownSet> sets = memory.list_sets();
  if (destination) keep_only(*destination, sets);
  auto rows = status_rows(std::move(sets), clock.wall(), settings.max_age);
  for (StatusRow& row : rows) add_report(reports.find(row.set.destination), clock.wall(), row);
  print_rows(settings, rows);
  // The table may go to /dev/null in cron: the error itself says which.
  const std::string stale = stale_destinations(rows);
  if (settings.max_age && rows.empty()) {
    const std::string none = "this client has not pushed anywhere yet";
    return fail(Errc::stale, destination ? "never pushed to " + *destination : none);
  }
  if (!stale.empty()) return fail(Errc::stale, stale);
  if (rows.empty() && destination) return fail(Errc::path, "this client has never pushed to " + *destination);
  if (rows.empty() && !settings.json) print_out("nbackup: this client has not pushed anywhere yet\n");
  return {};
}

Status status(const Settings& settings, Clock& clock) {
  std::optional<std::string> destination;
  if (!settings.arguments.empty()) {
    NB_TRY_ASSIGN(destination, destination_key(settings.arguments.front()));
  }
  const auto store = open_memory([](const std::string& text) { print_message(escape(text)); });
  cache::ClientState memory(store);
  cache::SetReports reports(store);
  if (destination) {
    const auto known = known_destination(memory.list_sets(), settings.arguments.front(), *destination);
    if (known) destination = *known;
  }
  if (settings.forget) return forget(settings, destination, memory, clock);
  return show(settings, destination, memory, reports, clock);
}

}  // namespace

int run_status(const Settings& settings, Clock& clock) {
  const auto done = status(settings, clock);
  return done ? 0 : report_failure(done.error());
}

}  // namespace nb::cli
