// SPDX-License-Identifier: Apache-2.0
// TerminalReporter: what a person or a cron mail sees. Names and the summary go to standard output, errors and progress
// to standard error. The progress line is drawn in place on a terminal and taken away before anything else is printed,
// so that it never ends up in a line of output.
#pragma once

#include <cstdio>
#include <set>

#include "base/clock.hpp"
#include "cli/progress.hpp"
#include "cli/reporter.hpp"
#include "cli/status_line.hpp"
#include "cli/summary.hpp"

namespace nb::cli {

struct TerminalOptions {
  std::FILE* out = stdout;
  std::FILE* err = stderr;
  bool show_progress = false;  // err is a terminal and progress is wanted
  bool show_items = false;
  bool show_stats = false;
  bool show_link = false;     // what the connection uses
  bool show_notices = false;  // somebody is watching, or asked for more
  bool quiet = false;         // errors only
  bool only_errors = false;   // --json: standard output is not ours, not even for the summary
  ItemStyle item_style = ItemStyle::names;
};

TerminalOptions terminal_options(const Settings& settings);

class TerminalReporter final : public Reporter {
 public:
  TerminalReporter(TerminalOptions options, Clock& clock);

  void on_start(const RunStart& start) override;
  void on_link(const transport::RemoteLink& link) override;
  void on_phase(wire::PhaseKind phase) override;
  void on_progress(const session::Counts& so_far) override;
  void on_item(const wire::Item& item) override;
  void on_problem(const Error& error) override;
  void on_notice(const std::string& text) override;
  void on_warning(const std::string& text) override;
  void on_remote_line(std::string_view line) override;
  void on_summary(const RunSummary& summary) override;
  void on_error(const Error& error, int exit_code) override;

 private:
  void draw_progress();
  void message(const std::string& text);  // one line on standard error
  void hint(const Error& error);          // each once
  TerminalOptions m_options;
  Clock& m_clock;
  RateMeter m_rate;
  ProgressState m_state;
  RunStart m_start;
  SteadyTime m_began;
  StatusLine m_line;
  std::set<std::string_view> m_hinted;  // literals
};

// Columns of the terminal behind `file`, 80 if it does not say.
std::size_t terminal_columns(std::FILE* file);

// "nbackup: text" on standard error, for what happens outside a run.
void print_error(const Error& error);
void print_message(std::string_view escaped_text);
// Prints an error that ended a command; returns the process's exit code.
int report_failure(const Error& error);

}  // namespace nb::cli
