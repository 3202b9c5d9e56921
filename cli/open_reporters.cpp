// SPDX-License-Identifier: Apache-2.0
#include "cli/open_reporters.hpp"

#include "cli/json_events.hpp"
#include "cli/log_reporter.hpp"
#include "cli/outcome.hpp"
#include "cli/terminal.hpp"

namespace nb::cli {

Status open_reporters(const Settings& settings, Clock& clock, ReporterGroup& group) {
  group.add(std::make_unique<TerminalReporter>(terminal_options(settings), clock));
  if (settings.outcome != nullptr) group.add(make_outcome_reporter(*settings.outcome));
  if (settings.json) {
    const bool progress = settings.progress == ProgressChoice::always;
    group.add(std::make_unique<JsonReporter>(stdout, progress ? JsonProgress::on : JsonProgress::off));
  }
  if (!settings.log_file) return {};
  NB_TRY_ASSIGN(auto log, open_log_reporter(*settings.log_file));
  group.add(std::move(log));
  return {};
}

}  // namespace nb::cli
