// SPDX-License-Identifier: Apache-2.0
// restore: a pull from a file set as it was. What the destination has already is not sent again, and the run is a
// transaction there like every other.
#include "cli/restore.hpp"

#include "cli/commands.hpp"
#include "cli/transfer.hpp"

namespace nb::cli {
namespace {

constexpr const char* k_latest = "latest";

// The same ends once more, as a verification; of the very generation that was read, whatever was committed since. The
// rules are those that were read then: standard input gives them once.
int read_back(Settings settings, std::uint64_t generation, const std::vector<std::string>& rules, Clock& clock) {
  settings.command = CommandId::verify;
  settings.at = "#" + std::to_string(generation);
  settings.filters.clear();
  auto prepared = Transfer::prepare(settings, clock);
  if (!prepared) return report_early_error(settings, prepared.error());
  (*prepared)->job().options.filter_rules = rules;
  return Transfer::exit_code((*prepared)->run());
}

}  // namespace

int restore_to_tree(const Settings& settings, RestoreShape shape, Clock& clock) {
  auto prepared = Transfer::prepare(settings, clock);
  if (!prepared) return report_early_error(settings, prepared.error());
  session::Job& job = (*prepared)->job();
  job.single_file_only = shape == RestoreShape::one_file;
  const auto restored = (*prepared)->run();
  const int exit_code = Transfer::exit_code(restored);
  if (!restored || !settings.read_back || settings.has(wire::k_flag_dry_run)) return exit_code;
  const int found = read_back(settings, restored->read_generation.value_or(0), job.options.filter_rules, clock);
  return found != 0 ? found : exit_code;
}

int run_restore(const Settings& settings, Clock& clock) {
  Settings complete = settings;
  if (!complete.at) complete.at = k_latest;
  if (complete.arguments.back() == "-") return restore_to_stdout(complete, clock);
  return restore_to_tree(complete, RestoreShape::any, clock);
}

}  // namespace nb::cli
