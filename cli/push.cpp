// SPDX-License-Identifier: Apache-2.0
// push: a transfer that the client remembers. Before the run the memory arms the guards (the set that was there, the
// mount points that there were); after it the memory is brought up to date.
#include <algorithm>

#include "cache/client_state.hpp"
#include "cache/set_reports.hpp"
#include "cli/commands.hpp"
#include "cli/transfer.hpp"
#include "session/mount_point.hpp"

namespace nb::cli {
namespace {

void arm_guards(Transfer& transfer, cache::ClientState& memory) {
  const Endpoints& ends = transfer.ends();
  const auto known = memory.find_set(ends.destination_key);
  if (known) {
    transfer.job().expected_set = known->set;
  } else {
    transfer.expect_first_copy();
  }
  transfer.job().expected_mounts = memory.find_mounts(ends.destination_key, ends.source_key);
}

// A run with problems may not have come to all mount points, or found them dead: what was known stays. But for what is
// none any more and does not have to be, as the user has said.
std::vector<std::string> mounts_to_remember(const session::Job& job, const session::RunReport& report) {
  std::vector<std::string> mounts = report.mounts;
  if (report.problems == 0) return mounts;
  for (const std::string& path : job.expected_mounts) {
    const bool is_given_up = job.allow_unmounted && session::has_lost_mount(path);
    if (!is_given_up) mounts.push_back(path);
  }
  return mounts;
}

void remember(Transfer& transfer, const session::RunReport& report, WallTime now, cache::ClientState& memory) {
  cache::KnownSet set;
  set.destination = transfer.ends().destination_key;
  set.source = transfer.ends().source_key;
  set.set = report.set;
  set.generation = report.result.generation;
  set.last_push_ns = now.time_since_epoch().count();
  set.last_exit = report.exit_code;
  set.bytes = report.counts.total_bytes;
  set.files = report.counts.entries;
  // A run without changes makes no generation; the set still has the one from before.
  const auto known = memory.find_set(set.destination);
  if (!report.result.committed && known && known->set == set.set) {
    set.generation = std::max(set.generation, known->generation);
  }
  memory.record_push(set, mounts_to_remember(transfer.job(), report));
}

// For `status`. An older nbackup there tells nothing.
void remember_facts(Transfer& transfer, const wire::RunResult& result) {
  if (result.history_generations == 0) return;
  cache::SetReports(transfer.memory())
      .record_facts(transfer.ends().destination_key,
                    {result.history_bytes, result.history_generations, static_cast<std::int64_t>(result.last_scrub_ns),
                     result.damaged_files});
}

}  // namespace

int run_push(const Settings& settings, Clock& clock) {
  auto prepared = Transfer::prepare(settings, clock);
  if (!prepared) return report_early_error(settings, prepared.error());
  Transfer& transfer = **prepared;
  cache::ClientState memory(transfer.memory());
  arm_guards(transfer, memory);
  const auto result = transfer.run();
  const int exit_code = Transfer::exit_code(result);
  if (settings.has(wire::k_flag_dry_run)) return exit_code;
  if (result) {
    remember(transfer, *result, clock.wall(), memory);
    remember_facts(transfer, result->result);
  } else {
    memory.record_failure(transfer.ends().destination_key, transfer.ends().source_key, exit_code);
  }
  return exit_code;
}

}  // namespace nb::cli
