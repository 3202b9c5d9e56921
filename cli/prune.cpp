// SPDX-License-Identifier: Apache-2.0
// prune: drops the generations that the set's policy does not keep, or the rules on the command line instead.
#include "cli/prune.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "cli/json_events.hpp"
#include "cli/look_places.hpp"
#include "cli/quantities.hpp"
#include "cli/status_table.hpp"
#include "session/set_reader.hpp"
#include "session/source_setup.hpp"

namespace nb::cli {
namespace {

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& each : parts) text += (text.empty() ? "" : ", ") + each;
  return text;
}

Result<txn::RetentionPolicy> policy_for(const HostJob& job, txn::FileSet& set) {
  if (job.settings.keep) return *job.settings.keep;
  NB_TRY_ASSIGN(const txn::SetPolicy policy, txn::policy_of(set));
  return policy.keep;
}

Result<std::vector<txn::Decision>> decide_on(const HostJob& job, const txn::RetentionPolicy& policy, txn::FileSet& set,
                                             Clock& clock) {
  NB_TRY_ASSIGN(auto decisions, txn::judge_generations(set, policy, clock));
  if (job.settings.damaged) NB_TRY(txn::drop_lost(set, decisions));
  return decisions;
}

Status tell_problems(const txn::ThinReport& report, session::CommandOutput& output) {
  bool is_damage = false;
  for (const txn::ThinReport::Problem& each : report.problems) {
    is_damage = is_damage || each.error.code == Errc::bad_set;
    NB_TRY(output.problem({each.error.code, each.error.sys_errno,
                           fmt::format("generation {} stays: {}", each.generation, each.error.context)}));
  }
  if (!report.emptied) NB_TRY(output.problem(report.emptied.error()));
  return is_damage ? output.notice("prune --damaged drops the generations that cannot be restored any more") : Status();
}

Status tell_decisions(const HostJob& job, const std::vector<txn::Decision>& decisions, session::CommandOutput& output) {
  if (job.settings.json) {
    for (const txn::Decision& each : decisions) NB_TRY(output.write(json_decision(each) + "\n"));
    return {};
  }
  const bool explains = job.settings.has(wire::k_flag_dry_run) || job.settings.verbosity > 0;
  return explains ? output.write(decisions_table(decisions)) : Status();
}

Status tell_end(const HostJob& job, const PruneSummary& summary, session::CommandOutput& output) {
  if (job.settings.json) return output.write(json_pruned(summary) + "\n");
  if (job.settings.quiet) return {};
  const std::string dropped = format_counted(summary.dropped, "generation", "generations");
  const std::string verb = summary.dry_run ? "would drop " : "dropped ";
  return output.write(fmt::format("nbackup: {}: {}{}, {} kept ({})\n", escape(summary.root_path), verb, dropped,
                                  format_count(summary.kept), summary.policy));
}

// The rules as they are, with nothing locked for longer than reading takes.
Result<int> explain(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  NB_TRY(check_whole(job, reader.root_path, reader.below));
  NB_TRY_ASSIGN(const txn::RetentionPolicy policy, policy_for(job, reader.set()));
  NB_TRY_ASSIGN(const auto decisions, decide_on(job, policy, reader.set(), clock));
  NB_TRY(tell_decisions(job, decisions, output));
  const std::size_t dropped = txn::dropped_by(decisions).size();
  NB_TRY(tell_end(job, {reader.root_path, txn::describe(policy), dropped, decisions.size() - dropped, true}, output));
  return 0;
}

Result<int> drop(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(const session::SetWriter writer, open_to_write(job, output, clock));
  NB_TRY_ASSIGN(const txn::RetentionPolicy policy, policy_for(job, *writer.set));
  NB_TRY_ASSIGN(const auto decisions, decide_on(job, policy, *writer.set, clock));
  NB_TRY(tell_decisions(job, decisions, output));
  NB_TRY_ASSIGN(const txn::ThinReport report,
                txn::drop_generations(*writer.set, *writer.lock, clock, txn::dropped_by(decisions),
                                      {job.settings.wait_readers, session::may_go_on}));
  NB_TRY(tell_problems(report, output));
  const std::size_t dropped = report.dropped.size();
  NB_TRY(tell_end(job, {writer.root_path, txn::describe(policy), dropped, decisions.size() - dropped, false}, output));
  return report.problems.empty() && report.emptied ? 0 : info(Errc::partial).exit_code;
}

}  // namespace

bool prune_only_looks(const Settings& settings) { return settings.has(wire::k_flag_dry_run); }

std::string decisions_table(const std::vector<txn::Decision>& decisions) {
  std::size_t width = 0;
  for (const txn::Decision& each : decisions) {
    width = std::max(width, std::to_string(each.generation.number).size());
  }
  std::string text;
  for (const txn::Decision& each : decisions) {
    const std::string time = each.generation.time_ns > 0 ? local_time(each.generation.time_ns) : "-";
    text += fmt::format("{}  {:>{}}  {:<16}  {}\n", each.fate == txn::Fate::keep ? "keep" : "drop",
                        each.generation.number, width, time, joined(each.reasons));
  }
  return text;
}

Result<int> run_prune(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  return job.settings.has(wire::k_flag_dry_run) ? explain(job, output, clock) : drop(job, output, clock);
}

}  // namespace nb::cli
