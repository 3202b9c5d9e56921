// SPDX-License-Identifier: Apache-2.0
// What push, pull and verify have in common: reporters, job, connection, the run itself and its end.
#pragma once

#include <memory>

#include "base/clock.hpp"
#include "cache/store.hpp"
#include "cli/connect.hpp"
#include "cli/endpoints.hpp"
#include "cli/reporter.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

class Transfer {
 public:
  // Resolves the arguments, reads filter files, opens the log. Errors are Errc::usage, of files that cannot be read, or
  // check_apart's.
  static Result<std::unique_ptr<Transfer>> prepare(const Settings& settings, Clock& clock);

  // For the command to complete before the run.
  [[nodiscard]] session::Job& job() { return m_job; }
  [[nodiscard]] const Endpoints& ends() const { return m_ends; }
  [[nodiscard]] Reporter& reporters() { return m_reporters; }
  // The client's memory, opened at the first call. Its warnings are the run's.
  const std::shared_ptr<cache::Store>& memory();
  void expect_first_copy() { m_start.first_copy = true; }

  // Runs the job; reports its summary or its error.
  Result<session::RunReport> run();
  // The exit code of what run() returned.
  static int exit_code(const Result<session::RunReport>& result);

 private:
  Transfer(const Settings& settings, Clock& clock) : m_settings(settings), m_clock(clock) {}
  Status make_job();
  ConnectionMessages messages();
  void on_link(const transport::RemoteLink& link);
  void remember_host(const wire::Hello& hello);
  [[nodiscard]] std::optional<FarHost> far_host();
  [[nodiscard]] Error as_user_knows_it(Error error) const;
  [[nodiscard]] FarRights far_rights() const;

  Settings m_settings;
  Clock& m_clock;
  Endpoints m_ends;
  session::Job m_job;
  RunStart m_start;
  ReporterGroup m_reporters;
  std::shared_ptr<cache::Store> m_memory;  // null: not opened yet
  std::optional<transport::RemoteLink> m_link;
};

// Prepares and runs without more; reports an error of the preparation too.
int run_plain_transfer(const Settings& settings, Clock& clock);

// Tells an error that came before there were reporters, in the form the settings ask for; returns its exit code.
int report_early_error(const Settings& settings, const Error& error);

}  // namespace nb::cli
