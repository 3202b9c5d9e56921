// SPDX-License-Identifier: Apache-2.0
#include "cli/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "cli/option_table.hpp"
#include "cli/quantities.hpp"

namespace nb::cli {
namespace {

// All that a hook may find; nbackup(1) explains them.
constexpr std::array<std::string_view, 15> k_names{
    "NBACKUP_HOOK",    "NBACKUP_COMMAND",    "NBACKUP_SOURCE",         "NBACKUP_DESTINATION", "NBACKUP_DRY_RUN",
    "NBACKUP_SECONDS", "NBACKUP_EXIT_CODE",  "NBACKUP_ERROR",          "NBACKUP_SUMMARY",     "NBACKUP_PROBLEMS",
    "NBACKUP_FILES",   "NBACKUP_GENERATION", "NBACKUP_BYTES_RECEIVED", "NBACKUP_BYTES",       "NBACKUP_BYTES_SENT"};

// execve(2) takes no more than 128 KiB in a variable.
constexpr std::size_t k_max_value_bytes = std::size_t{64} << 10;

bool is_own(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::find(k_names.begin(), k_names.end(), name) != k_names.end();
}

class Variables {
 public:
  explicit Variables(std::vector<std::string> inherited) : m_all(std::move(inherited)) { std::erase_if(m_all, is_own); }
  void set(std::string_view name, std::string_view value) {
    m_all.push_back(fmt::format("NBACKUP_{}={}", name, value));
  }
  void set(std::string_view name, std::uint64_t value) { set(name, std::to_string(value)); }
  void set_if(std::string_view name, std::string_view value) {
    if (!value.empty()) set(name, value);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(m_all); }

 private:
  std::vector<std::string> m_all;
};

void add_end(const Finished& finished, Variables& variables) {
  const Outcome& outcome = finished.outcome;
  variables.set("EXIT_CODE", static_cast<std::uint64_t>(finished.exit_code));
  variables.set("SECONDS", static_cast<std::uint64_t>(finished.elapsed.count()));
  variables.set("PROBLEMS", outcome.problems);
  variables.set_if("SUMMARY", begin_of(outcome.summary, k_max_value_bytes));
  variables.set_if("ERROR", begin_of(outcome.error, k_max_value_bytes));
  if (!outcome.figures) return;
  const RunFigures& figures = *outcome.figures;
  if (figures.generation) variables.set("GENERATION", *figures.generation);
  variables.set("FILES", figures.files);
  variables.set("BYTES", figures.bytes);
  variables.set("BYTES_SENT", figures.bytes_sent);
  variables.set("BYTES_RECEIVED", figures.bytes_received);
}

std::vector<std::string> source_list(const Settings& settings) {
  return {settings.arguments.begin(), settings.arguments.end() - (settings.arguments.empty() ? 0 : 1)};
}

// As many of the lines as a variable takes.
std::string cut_to_fit(std::string lines) {
  if (lines.size() <= k_max_value_bytes) return lines;
  const std::size_t end = lines.rfind('\n', k_max_value_bytes);
  const std::size_t kept = end == std::string::npos ? 0 : end + 1;
  const auto more = std::count(lines.begin() + static_cast<std::ptrdiff_t>(kept), lines.end(), '\n') + 1;
  lines.resize(kept);
  return lines + fmt::format("({} more)", more);
}

}  // namespace

std::string destination_of(const Settings& settings) {
  return settings.arguments.empty() ? std::string() : settings.arguments.back();
}

std::string sources_of(const Settings& settings) { return fmt::format("{}", fmt::join(source_list(settings), "\n")); }

std::vector<std::string> hook_environment(const Settings& settings, std::string_view hook, const Finished* finished,
                                          std::vector<std::string> inherited) {
  Variables variables(std::move(inherited));
  variables.set("HOOK", hook);
  variables.set("COMMAND", command_row(settings.command).name);
  variables.set_if("SOURCE", cut_to_fit(sources_of(settings)));
  variables.set_if("DESTINATION", destination_of(settings));
  if (settings.has(wire::k_flag_dry_run)) variables.set("DRY_RUN", std::uint64_t{1});
  if (finished != nullptr) add_end(*finished, variables);
  return variables.take();
}

std::string run_title(const Settings& settings) {
  std::string text = command_row(settings.command).name;
  for (const std::string& each : source_list(settings)) text += " " + escape(each);
  if (settings.arguments.size() > 1) text += " to";
  return settings.arguments.empty() ? text : text + " " + escape(settings.arguments.back());
}

std::string report_lines(const Settings& settings, const Finished& finished) {
  const Outcome& outcome = finished.outcome;
  const std::string title = run_title(settings);
  std::string text = (outcome.summary.empty() ? title : outcome.summary) + "\n";
  if (!outcome.error.empty()) text += outcome.error + "\n";
  for (const std::string& line : outcome.lines) text += line + "\n";
  return text + fmt::format("exit code {} after {}\n", finished.exit_code, format_elapsed(finished.elapsed));
}

}  // namespace nb::cli
