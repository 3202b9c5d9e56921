// SPDX-License-Identifier: Apache-2.0
#include "cli/outcome.hpp"

#include "base/text.hpp"
#include "cli/summary.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_longest_line = 1000;  // a file's content may come by here too

RunFigures figures_of(const session::RunReport& report) {
  RunFigures figures;
  if (report.read_generation) {
    figures.generation = report.read_generation;
  } else if (report.result.generation != 0) {
    figures.generation = report.result.generation;
  }
  figures.files = report.counts.entries;
  figures.bytes = report.counts.total_bytes;
  figures.bytes_sent = report.counts.sent_bytes;
  figures.bytes_received = report.counts.received_bytes;
  return figures;
}

class OutcomeReporter final : public Reporter {
 public:
  explicit OutcomeReporter(Outcome& outcome) : m_outcome(outcome) {}
  void on_start(const RunStart&) override {}
  void on_link(const transport::RemoteLink&) override {}
  void on_phase(wire::PhaseKind) override {}
  void on_progress(const session::Counts&) override {}
  void on_item(const wire::Item&) override {}
  void on_problem(const Error& error) override { m_outcome.add_problem(error); }
  void on_notice(const std::string&) override {}
  void on_warning(const std::string& text) override { m_outcome.add_line(escape(text)); }
  void on_remote_line(std::string_view line) override { m_outcome.add_line("remote: " + escape(line)); }
  void on_summary(const RunSummary& summary) override { m_outcome.add_run(summary); }
  void on_error(const Error& error, int) override { m_outcome.error = error_line(error); }

 private:
  Outcome& m_outcome;
};

}  // namespace

void Outcome::add_line(std::string line) {
  if (lines.size() < k_most_lines) lines.push_back(std::move(line));
  if (lines.size() == k_most_lines) lines.emplace_back("...");
}

void Outcome::add_problem(const Error& problem) {
  ++problems;
  if (problem.code == Errc::metadata_lost) ++losses;
  add_line(error_line(problem));
}

void Outcome::add_run(const RunSummary& run) {
  if (!figures) figures = figures_of(run.report);
  summary += (summary.empty() ? "" : "; ") + summary_line(run);
}

std::unique_ptr<Reporter> make_outcome_reporter(Outcome& outcome) { return std::make_unique<OutcomeReporter>(outcome); }

void LastLine::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    m_begun += part.substr(0, k_longest_line - std::min(k_longest_line, m_begun.size()));
    if (end == std::string_view::npos) return;
    if (!m_begun.empty()) m_ended = std::exchange(m_begun, {});
    bytes.remove_prefix(end + 1);
  }
}

std::string LastLine::text() const {
  constexpr std::string_view k_name = "nbackup: ";
  const std::string_view line = m_begun.empty() ? m_ended : m_begun;
  // What a command prints has been escaped once.
  return escape_controls(line.starts_with(k_name) ? line.substr(k_name.size()) : line);
}

}  // namespace nb::cli
