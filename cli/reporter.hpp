// SPDX-License-Identifier: Apache-2.0
// Reporter: the session's Observer plus what only cli/ knows: the start, the end, and an error that ended the run. One
// for the terminal, one for --json, one for --log-file; ReporterGroup passes everything on to all of them.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/settings.hpp"
#include "session/observer.hpp"
#include "transport/ssh_select.hpp"

namespace nb::cli {

struct RunStart {
  CommandId command = CommandId::push;
  std::vector<std::string> sources;  // as shown
  std::string destination;
  bool dry_run = false;
  bool first_copy = false;  // nothing is known to be there: all bytes that are found will be sent
};

struct RunSummary {
  RunStart start;
  session::RunReport report;
  std::chrono::milliseconds elapsed{0};
  std::optional<transport::RemoteLink> link = {};  // the last connection; unset where there was no host
};

class Reporter : public session::Observer {
 public:
  virtual void on_start(const RunStart& start) = 0;
  // A connection to another host was made; again after each lost one.
  virtual void on_link(const transport::RemoteLink& link) = 0;
  virtual void on_summary(const RunSummary& summary) = 0;
  // The run ended here; `exit_code` is the process's.
  virtual void on_error(const Error& error, int exit_code) = 0;
  // Something that a person must learn even from a cron mail, but that does not end the run.
  virtual void on_warning(const std::string& text) = 0;
  // One line of the other side's standard error.
  virtual void on_remote_line(std::string_view line) = 0;
};

// Notices and remote lines come from other threads than the session's calls, so this is also where all of them queue up
// behind one mutex.
class ReporterGroup final : public Reporter {
 public:
  ReporterGroup();
  ~ReporterGroup() override;
  void add(std::unique_ptr<Reporter> reporter);

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
  template <class Call>
  void each(const Call& call);
  struct State;
  std::unique_ptr<State> m_state;
};

// "compare", "transfer", "sync", "commit", "cleanup".
std::string_view phase_name(wire::PhaseKind phase);

}  // namespace nb::cli
