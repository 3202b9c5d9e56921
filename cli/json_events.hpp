// SPDX-License-Identifier: Apache-2.0
// --json: one event a line, as nbackup(1) documents it. Texts that hold file names are escaped as on a terminal
// (base/text.hpp: every byte that is not printable UTF-8, and the backslash, as \ooo), which can be undone exactly; so
// every line is valid UTF-8 and valid JSON.
#pragma once

#include <cstdio>
#include <string>

#include "cache/upkeep.hpp"
#include "cli/drill_report.hpp"
#include "cli/look.hpp"
#include "cli/reporter.hpp"
#include "cli/status_table.hpp"
#include "txn/generation.hpp"
#include "txn/retention.hpp"

namespace nb::cli {

// Each returns one line without its newline.
std::string json_start(const RunStart& start);
std::string json_connection(const transport::RemoteLink& link);
std::string json_phase(wire::PhaseKind phase);
std::string json_progress(const session::Counts& so_far);
std::string json_item(const wire::Item& item);
std::string json_problem(const Error& error);
std::string json_notice(std::string_view text);
std::string json_remote(std::string_view line);
std::string json_summary(const RunSummary& summary);
std::string json_error(const Error& error, int exit_code);
std::string json_status_row(const StatusRow& row);
std::string json_generation(const txn::Generation& generation);
// Mode, owner and time are left out where they are not known.
std::string json_listed(const wire::Entry& entry, const RelPath& path, Attributes attributes = Attributes::known);
std::string json_cache_use(const cache::ClientUse& use, const std::string& path);
std::string json_cache_pruned(const cache::Pruned& gone);

// What a prune came to.
struct PruneSummary {
  std::string root_path;
  std::string policy;  // in words
  std::size_t dropped = 0;
  std::size_t kept = 0;
  bool dry_run = false;
};
std::string json_decision(const txn::Decision& decision);
std::string json_pruned(const PruneSummary& summary);
std::string json_policy(const txn::SetPolicy& policy, bool is_own);

std::string json_difference(const SampledFile& file, DifferenceFrom from, const std::string& where);
std::string json_drill(const DrillResult& result);

enum class JsonProgress : std::uint8_t { off, on };

class JsonReporter final : public Reporter {
 public:
  // `out` outlives the reporter.
  JsonReporter(std::FILE* out, JsonProgress progress) : m_out(out), m_progress(progress) {}
  void on_start(const RunStart& start) override { line(json_start(start)); }
  void on_link(const transport::RemoteLink& link) override { line(json_connection(link)); }
  void on_phase(wire::PhaseKind phase) override { line(json_phase(phase)); }
  void on_progress(const session::Counts& so_far) override;
  void on_item(const wire::Item& item) override { line(json_item(item)); }
  void on_problem(const Error& error) override { line(json_problem(error)); }
  void on_notice(const std::string& text) override { line(json_notice(text)); }
  void on_warning(const std::string& text) override { line(json_notice(text)); }
  void on_remote_line(std::string_view text) override { line(json_remote(text)); }
  void on_summary(const RunSummary& summary) override { line(json_summary(summary)); }
  void on_error(const Error& error, int exit_code) override { line(json_error(error, exit_code)); }

 private:
  void line(const std::string& text);
  std::FILE* m_out;
  JsonProgress m_progress;
};

}  // namespace nb::cli
