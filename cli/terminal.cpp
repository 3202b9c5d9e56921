// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.hpp"
#include "cli/hints.hpp"

namespace nb::cli {
namespace {

bool is_terminal(std::FILE* file) { return ::isatty(::fileno(file)) == 1; }

void put_line(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fputc('\n', file);
}

}  // namespace

TerminalOptions terminal_options(const Settings& settings) {
  TerminalOptions options;
  options.quiet = settings.quiet;
  options.only_errors = settings.json;
  options.show_stats = settings.stats;
  const bool wanted = settings.progress == ProgressChoice::always ||
                      (settings.progress == ProgressChoice::automatic && !settings.quiet && !settings.json);
  // Never anywhere but on a terminal: in a file or a mail it would be thousands of lines.
  options.show_progress = wanted && is_terminal(stderr);
  // In cron a good run is one line, whatever carrier it took.
  options.show_notices = !settings.quiet && (is_terminal(stderr) || settings.verbosity > 0);
  options.show_link = !settings.quiet && settings.verbosity > 0;
  options.show_items =
      !settings.quiet && (settings.verbosity > 0 || settings.itemize || settings.command == CommandId::verify);
  const bool coded = settings.itemize || settings.command == CommandId::verify;
  options.item_style = coded ? ItemStyle::itemized : ItemStyle::names;
  return options;
}

std::size_t terminal_columns(std::FILE* file) {
  winsize size{};
  if (::ioctl(::fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

TerminalReporter::TerminalReporter(TerminalOptions options, Clock& clock)
    : m_options(options),
      m_clock(clock),
      m_began(clock.steady()),
      m_line(options.err, options.show_progress ? StatusLine::Use::shown : StatusLine::Use::hidden) {}

void TerminalReporter::on_start(const RunStart& start) {
  m_start = start;
  m_began = m_clock.steady();
}

void TerminalReporter::on_link(const transport::RemoteLink& link) {
  if (m_options.show_link) message("connection: " + link_line(link));
}

void TerminalReporter::on_phase(wire::PhaseKind phase) {
  m_state.phase = phase;
  draw_progress();
}

void TerminalReporter::on_progress(const session::Counts& so_far) {
  m_state.counts = so_far;
  m_rate.add(m_clock.steady(), so_far.content_bytes);
  draw_progress();
}

void TerminalReporter::on_item(const wire::Item& item) {
  if (!m_options.show_items || m_options.only_errors) return;
  m_line.clear();
  put_line(m_options.out, item_line(item, m_options.item_style));
}

void TerminalReporter::on_problem(const Error& error) {
  message(error_line(error));
  hint(error);
}

void TerminalReporter::on_notice(const std::string& text) {
  if (m_options.show_notices) message(escape(text));
}

void TerminalReporter::on_warning(const std::string& text) { message(escape(text)); }

void TerminalReporter::on_remote_line(std::string_view line) { message("remote: " + escape(line)); }

void TerminalReporter::on_summary(const RunSummary& summary) {
  m_line.clear();
  if (m_options.only_errors) return;
  if (m_options.show_stats) std::fputs(stats_block(summary).c_str(), m_options.out);
  if (!m_options.quiet) put_line(m_options.out, "nbackup: " + summary_line(summary));
  std::fflush(m_options.out);
}

void TerminalReporter::on_error(const Error& error, int) {
  std::fflush(m_options.out);
  if (error.code == Errc::interrupted) {
    message(error.context.empty() ? "interrupted; what was sent is kept and the next run continues from it"
                                  : "interrupted; " + error.context);
    return;
  }
  message(error_line(error));
  hint(error);
}

void TerminalReporter::draw_progress() {
  if (!m_line.is_shown()) return;
  m_state.bytes_per_second = m_rate.bytes_per_second();
  m_state.elapsed = std::chrono::floor<std::chrono::seconds>(m_clock.steady() - m_began);
  // Until the scan is over nobody knows how much there is; and later only where everything is to be sent.
  const bool known = m_start.first_copy && m_state.phase == wire::PhaseKind::transfer;
  m_state.expected_bytes = known ? std::optional(m_state.counts.total_bytes) : std::nullopt;
  m_line.show(progress_line(m_state, terminal_columns(m_options.err) - 1));
}

void TerminalReporter::message(const std::string& text) {
  m_line.clear();
  put_line(m_options.err, "nbackup: " + text);
}

void TerminalReporter::hint(const Error& error) {
  const std::string_view text = hint_for(error);
  if (!text.empty() && m_hinted.insert(text).second) put_line(m_options.err, "nbackup:   " + std::string(text));
}

void print_message(std::string_view escaped_text) { put_line(stderr, "nbackup: " + std::string(escaped_text)); }

void print_error(const Error& error) {
  print_message(error_line(error));
  const std::string_view hint = hint_for(error);
  if (!hint.empty()) print_message("  " + std::string(hint));
}

int report_failure(const Error& error) {
  print_error(error);
  return exit_code_of(error.code);
}

}  // namespace nb::cli
