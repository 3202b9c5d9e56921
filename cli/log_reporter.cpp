// SPDX-License-Identifier: Apache-2.0
#include "cli/log_reporter.hpp"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <cstdio>
#include <filesystem>

#include "base/text.hpp"
#include "cli/option_table.hpp"
#include "cli/summary.hpp"

namespace nb::cli {
namespace {

class LogReporter final : public Reporter {
 public:
  explicit LogReporter(std::shared_ptr<spdlog::logger> log) : m_log(std::move(log)) {}
  ~LogReporter() override { m_log->flush(); }
  LogReporter(const LogReporter&) = delete;
  LogReporter& operator=(const LogReporter&) = delete;

  void on_start(const RunStart& start) override {
    std::string sources;
    for (const std::string& source : start.sources) sources += escape(source) + " ";
    m_log->info("start: {}{} {}to {}", start.dry_run ? "dry run of " : "", command_row(start.command).name, sources,
                escape(start.destination));
  }
  void on_link(const transport::RemoteLink& link) override { m_log->info("connection: {}", link_line(link)); }
  void on_phase(wire::PhaseKind phase) override { m_log->info("phase: {}", phase_name(phase)); }
  void on_progress(const session::Counts&) override {}
  void on_item(const wire::Item& item) override { m_log->info("{}", item_line(item, ItemStyle::itemized)); }
  void on_problem(const Error& error) override { write(spdlog::level::warn, error); }
  void on_notice(const std::string& text) override { m_log->info("{}", escape(text)); }
  void on_warning(const std::string& text) override { m_log->warn("{}", escape(text)); }
  void on_remote_line(std::string_view line) override { m_log->info("remote: {}", escape(line)); }
  void on_summary(const RunSummary& summary) override {
    m_log->info("{}, exit {}", summary_line(summary), summary.report.exit_code);
    m_log->flush();
  }
  void on_error(const Error& error, int exit_code) override {
    write(spdlog::level::err, error);
    m_log->error("failed, exit {}", exit_code);
    m_log->flush();
  }

 private:
  void write(spdlog::level::level_enum level, const Error& error) {
    m_log->log(level, "{} [{}]", error_line(error), info(error.code).name);
  }
  std::shared_ptr<spdlog::logger> m_log;
};

}  // namespace

Result<std::unique_ptr<Reporter>> open_log_reporter(const std::string& path) {
  // spdlog would make the directories on the way: for a slip of the hand, and where a pool is not mounted.
  const std::filesystem::path directory = std::filesystem::path("." / std::filesystem::path(path)).parent_path();
  std::error_code why;
  if (!std::filesystem::is_directory(directory, why)) {
    return fail(Errc::usage, "--log-file " + path + ": " + (why ? why.message() : "not in a directory"));
  }
  try {
    // Debian's spdlog opens it for children too, of which a hook may leave some that outlive us.
    spdlog::file_event_handlers handlers;
    handlers.after_open = [](const spdlog::filename_t&, std::FILE* file) {
      ::fcntl(::fileno(file), F_SETFD, FD_CLOEXEC);
    };
    auto sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path, false, handlers);
    auto log = std::make_shared<spdlog::logger>("nbackup", std::move(sink));
    log->set_pattern("%Y-%m-%d %H:%M:%S.%e [%P] %l: %v");
    log->flush_on(spdlog::level::warn);
    return std::make_unique<LogReporter>(std::move(log));
  } catch (const spdlog::spdlog_ex& error) {
    return fail(Errc::usage, std::string("--log-file: ") + error.what());
  }
}

}  // namespace nb::cli
