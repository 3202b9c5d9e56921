// SPDX-License-Identifier: Apache-2.0
// push: a transfer that the client remembers. Before the run the memory arms the guards (the set that was there, the
// mount points that there were); after it the memory is brought up to date.
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "cache/client_state.hpp"
#include "cache/set_reports.hpp"
#include "cli/commands.hpp"
#include "cli/transfer.hpp"
#include "session/mount_point.hpp"
#include "session/run_options.hpp"

namespace nb::cli {
namespace {

bool are_on_two(const std::string& source, const std::string& destination) {
  struct stat from {};
  struct stat to {};
  if (::stat(source.c_str(), &from) != 0) return false;
  const bool is_there = ::stat(destination.c_str(), &to) == 0;
  if (!is_there && ::stat(std::filesystem::path(destination).parent_path().c_str(), &to) != 0) return false;
  return from.st_dev != to.st_dev;
}

// The path in the transfer of what lies at the real path `to`, if that is inside of `source`.
std::optional<RelPath> path_inside(const std::string& source, const std::filesystem::path& to) {
  std::error_code error;
  const std::filesystem::path from = std::filesystem::canonical(source, error);
  if (error) return std::nullopt;
  auto [above, below] = std::mismatch(from.begin(), from.end(), to.begin(), to.end());
  if (above != from.end() || below == to.end()) return std::nullopt;
  std::filesystem::path path = source.ends_with('/') ? std::filesystem::path() : from.filename();
  for (; below != to.end(); ++below) path /= *below;
  auto inside = RelPath::parse(path.string());
  return inside && !inside->is_root() ? std::optional(*std::move(inside)) : std::nullopt;
}

bool is_left_out(const filter::Rules& rules, const RelPath& path) {
  for (RelPath each = path; !each.is_root(); each = each.parent()) {
    if (rules.check(each, fs::FileType::directory) == filter::Verdict::exclude) return true;
  }
  return false;
}

// A destination in the source would be pushed with it, each time with all that was pushed before.
Status check_apart(const Endpoints& ends, const session::Options& options) {
  if (ends.host) return {};
  NB_TRY_ASSIGN(const filter::Rules rules, session::rules_of(options.filter_rules));
  const std::string& real_destination = ends.destination_key;
  const bool stays_on_one = (options.flags & wire::k_flag_one_file_system) != 0;
  for (const std::string& source : ends.sources) {
    const auto inside = path_inside(source, real_destination);
    if (!inside || is_left_out(rules, *inside) || (stays_on_one && are_on_two(source, real_destination))) continue;
    return fail(Errc::path, "destination " + ends.shown_destination + " lies in the source " + source +
                                " and would be pushed with it; leave it out: --exclude=/" + inside->str());
  }
  return {};
}

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
                    {result.history_bytes, result.history_generations,
                     static_cast<std::int64_t>(result.last_scrub_ns), result.damaged_files});
}

}  // namespace

int run_push(const Settings& settings, Clock& clock) {
  auto prepared = Transfer::prepare(settings, clock);
  if (!prepared) return report_early_error(settings, prepared.error());
  Transfer& transfer = **prepared;
  const Status apart = check_apart(transfer.ends(), transfer.job().options);
  if (!apart) return report_early_error(settings, apart.error());
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
