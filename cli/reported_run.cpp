// SPDX-License-Identifier: Apache-2.0
#include "cli/reported_run.hpp"

#include "cache/set_reports.hpp"
#include "cli/change_mail.hpp"
#include "cli/child_program.hpp"
#include "cli/connect.hpp"
#include "cli/endpoints.hpp"
#include "cli/memory.hpp"
#include "cli/open_reporters.hpp"
#include "cli/option_table.hpp"
#include "cli/outcome.hpp"
#include "cli/ping.hpp"
#include "cli/report_text.hpp"
#include "cli/standard_output.hpp"
#include "session/interrupt.hpp"

namespace nb::cli {
namespace {

class ReportedRun {
 public:
  ReportedRun(const Settings& settings, Clock& clock) : m_settings(settings), m_clock(clock) {
    m_settings.outcome = &m_outcome;
  }

  int run(CommandRunner command) {
    tell_monitor(PingEvent::started, {});
    const Status may_start = before();
    m_exit_code = may_start ? timed(command) : end_with(may_start.error());
    if (m_exit_code == 0) after();
    if (m_exit_code != 0) on_failure();
    tell_monitor(m_exit_code == 0 ? PingEvent::succeeded : PingEvent::failed, report_lines(m_settings, finished()));
    mail_change();
    return m_exit_code;
  }

 private:
  int timed(CommandRunner command) {
    const SteadyTime began = m_clock.steady();
    const int exit_code = checked_output(command(m_settings, m_clock));
    m_elapsed = std::chrono::round<std::chrono::seconds>(m_clock.steady() - began);
    return exit_code;
  }

  [[nodiscard]] Finished finished() const { return {m_exit_code, m_elapsed, m_outcome}; }

  // Nothing to do is fine. Errc::hook_failed says which command it was and how it ended.
  Status hook(std::string_view name, const std::optional<std::string>& line, const Finished* ended) {
    if (!line) return {};
    ChildProgram program;
    program.argv = {"/bin/sh", "-c", *line};
    program.environment = hook_environment(m_settings, name, ended, inherited_environment());
    const auto failure = run_to_end(program, m_clock);
    return failure ? fail(Errc::hook_failed, "--" + std::string(name) + " (" + *line + ") " + *failure) : Status();
  }

  Status before() {
    Status done = hook("before", m_settings.before, nullptr);
    if (session::interrupt_requested()) return fail(Errc::interrupted, "nothing was done");
    if (!done) done.error().context += "; nothing was done";
    return done;
  }

  // The run itself went well and stands; but whoever watches exit codes is to hear of it.
  void after() {
    const Finished ended = finished();
    const Status done = hook("after", m_settings.after, &ended);
    if (!done) m_exit_code = end_with(done.error());
  }

  void on_failure() {
    const Finished ended = finished();
    const Status done = hook("on-failure", m_settings.on_failure, &ended);
    if (!done) warn(done.error().context);
  }

  // A dry run backs up nothing, and a monitor must not take it for a run that did.
  void tell_monitor(PingEvent event, const std::string& body) {
    if (!m_settings.ping_url || m_settings.has(wire::k_flag_dry_run)) return;
    const Status done = ping(*m_settings.ping_url, event, body, m_clock);
    if (!done) warn(done.error().context);
  }

  [[nodiscard]] cache::RunKey run_key() const {
    const std::string written = destination_of(m_settings);
    return {command_row(m_settings.command).name, destination_key(written).value_or(written), sources_of(m_settings)};
  }

  // A change counts as told only when the mail is out of our hands: else the next run tries again.
  void mail_change() {
    if (!m_settings.mail_on_change || m_settings.has(wire::k_flag_dry_run)) return;
    cache::SetReports memory(open_memory([this](const std::string& text) { warn(text); }));
    const cache::RunKey run = run_key();
    if (is_news(memory.last_outcome(run), m_exit_code)) {
      const std::string subject = mail_subject(client_name(), run_title(m_settings), m_exit_code);
      const Status sent =
          send_mail(*m_settings.mail_on_change,
                    mail_text(*m_settings.mail_on_change, subject, report_lines(m_settings, finished())), m_clock);
      if (!sent) return warn(sent.error().context);
    }
    memory.record_outcome(run, m_exit_code, m_clock.wall().time_since_epoch().count());
  }

  // Beside those of the command, which come and go with it; a log file that cannot be opened is its error.
  ReporterGroup& reporters() {
    if (!m_reporters) static_cast<void>(open_reporters(m_settings, m_clock, m_reporters.emplace()));
    return *m_reporters;
  }
  int end_with(const Error& error) {
    const int exit_code = exit_code_of(error.code);
    reporters().on_error(error, exit_code);
    return exit_code;
  }
  void warn(const std::string& text) { reporters().on_warning(text); }

  Settings m_settings;
  Clock& m_clock;
  std::optional<ReporterGroup> m_reporters;
  Outcome m_outcome;
  int m_exit_code = 0;
  std::chrono::seconds m_elapsed{0};
};

}  // namespace

bool wants_reports(const Settings& settings) {
  return settings.before || settings.after || settings.on_failure || settings.ping_url || settings.mail_on_change;
}

int run_reported(const Settings& settings, Clock& clock, CommandRunner command) {
  return wants_reports(settings) ? ReportedRun(settings, clock).run(command) : command(settings, clock);
}

}  // namespace nb::cli
