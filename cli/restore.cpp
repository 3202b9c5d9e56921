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
int read_back(Settings settings, std::uint64_t generation, const session::Job& restored, Clock& clock) {
  settings.command = CommandId::verify;
  settings.at = "#" + std::to_string(generation);
  settings.filters.clear();
  auto prepared = Transfer::prepare(settings, clock);
  if (!prepared) return report_early_error(settings, prepared.error());
  session::Job& job = (*prepared)->job();
  job.destination = restored.destination;
  job.options.filter_rules = restored.options.filter_rules;
  return Transfer::exit_code((*prepared)->run());
}

int restore(const Settings& settings, Transfer& transfer, Clock& clock) {
  const auto restored = transfer.run();
  const int exit_code = Transfer::exit_code(restored);
  if (!restored || !settings.read_back || settings.has(wire::k_flag_dry_run)) return exit_code;
  const int found = read_back(settings, restored->read_generation.value_or(0), transfer.job(), clock);
  return found != 0 ? found : exit_code;
}

int restore_to_tree(const Settings& settings, Clock& clock) {
  const auto prepared = Transfer::prepare(settings, clock);
  return prepared ? restore(settings, **prepared, clock) : report_early_error(settings, prepared.error());
}

}  // namespace

int restore_file(const Settings& settings, const MakePlace& make_place, Clock& clock) {
  const auto prepared = Transfer::prepare(settings, clock);
  if (!prepared) return report_early_error(settings, prepared.error());
  session::Job& job = (*prepared)->job();
  job.single_file_only = true;
  (*prepared)->on_connected([&]() -> Status {
    NB_TRY_ASSIGN(job.destination, make_place());
    return {};
  });
  return restore(settings, **prepared, clock);
}

int run_restore(const Settings& settings, Clock& clock) {
  Settings complete = settings;
  if (!complete.at) complete.at = k_latest;
  if (complete.arguments.back() == "-") return restore_to_stdout(complete, clock);
  return restore_to_tree(complete, clock);
}

}  // namespace nb::cli
