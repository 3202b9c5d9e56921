// SPDX-License-Identifier: Apache-2.0
#include "cli/rollback.hpp"

#include <fmt/format.h>

#include <mutex>

#include "cli/connect.hpp"
#include "cli/json_events.hpp"
#include "cli/look_places.hpp"
#include "cli/standard_output.hpp"
#include "cli/summary.hpp"
#include "cli/when.hpp"
#include "session/client.hpp"
#include "session/set_reader.hpp"
#include "session/tree_diff.hpp"

namespace nb::cli {
namespace {

// What is rolled back, and to what.
struct Plan {
  std::string root_path;
  wire::Id set{};
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  bool reads_contents = false;  // size and time do not tell all that differs
};

// Whether there is a file that differs in nothing but its content, as after push -c: a run would take it for unchanged.
Result<bool> hides_content(session::SetReader& reader, std::uint64_t to) {
  NB_TRY_ASSIGN(session::SetView then, session::SetView::open(reader, to));
  NB_TRY_ASSIGN(session::SetView now, session::SetView::open(reader, reader.set().head().generation));
  bool found = false;
  const session::DiffVisitor visitor{[&](const wire::Item& item) {
                                       found = found || item.change.substr(1).starts_with("fc..");
                                       return Status();
                                     },
                                     [](const Error&) { return Status(); }};
  NB_TRY(session::diff_trees(then, now, RelPath(), visitor));
  return found;
}

// The lock is given up again: the run takes its own, its guard knows the set, and it looks whether this still holds.
Result<Plan> make_plan(const HostJob& job, Clock& clock) {
  if (!job.settings.to) return fail(Errc::usage, "rollback needs --to WHEN");
  NB_TRY_ASSIGN(session::SetReader reader, session::open_set(job.place, job.stay_within, job.client, clock));
  NB_TRY(check_whole(job, reader.root_path, reader.below));
  NB_TRY_ASSIGN(const wire::Moment moment, parse_when(*job.settings.to, clock.wall()));
  NB_TRY_ASSIGN(const std::uint64_t to, reader.generation(moment));
  NB_TRY_ASSIGN(const bool hidden, hides_content(reader, to));
  return Plan{reader.root_path, reader.set().format().uuid, reader.set().head().generation, to, hidden};
}

// What a run tells, as the output of a command. Its connection tells from threads of its own.
class RunOutput final : public session::Observer {
 public:
  RunOutput(OutputForm form, session::CommandOutput& output) : m_form(form), m_output(output) {}
  void on_phase(wire::PhaseKind) override {}
  void on_progress(const session::Counts&) override {}
  void on_item(const wire::Item& item) override {
    const std::lock_guard lock(m_mutex);
    keep(m_output.write((m_form == OutputForm::json ? json_item(item) : item_line(item, ItemStyle::itemized)) + "\n"));
  }
  void on_problem(const Error& error) override {
    const std::lock_guard lock(m_mutex);
    keep(m_output.problem(error));
  }
  void on_notice(const std::string& text) override {
    const std::lock_guard lock(m_mutex);
    keep(m_output.notice(text));
  }
  // The first error of the output. The run is not ended by it: it may be past its commit point.
  [[nodiscard]] const Status& status() const { return m_status; }

 private:
  void keep(Status status) {
    if (m_status) m_status = std::move(status);
  }
  const OutputForm m_form;
  session::CommandOutput& m_output;
  std::mutex m_mutex;
  Status m_status;
};

session::Job job_of(const HostJob& job, const Plan& plan) {
  session::Job run;
  run.operation = wire::Operation::push;
  run.sources = {plan.root_path == "/" ? "/" : plan.root_path + "/"};
  run.destination = plan.root_path;
  run.client = job.client;
  run.at = wire::Moment{wire::MomentKind::generation, plan.to};
  run.stay_within = job.stay_within;
  run.expected_set = plan.set;
  run.allow_unmounted = true;
  run.options.flags = (job.settings.flags & wire::k_flag_dry_run) | wire::k_flag_delete | wire::k_flag_allow_empty |
                      wire::k_flag_whole_file;
  if (plan.reads_contents) run.options.flags |= wire::k_flag_checksum;
  const bool tells = job.settings.itemize || job.settings.json || job.settings.has(wire::k_flag_dry_run);
  if (tells) run.options.flags |= wire::k_flag_itemize;
  run.options.max_delete = session::k_no_max_delete;
  run.options.inactivity = job.settings.timeout;
  run.options.compression = {codec::CompressionMode::off, 0};
  run.options.wait_readers = job.settings.wait_readers;
  return run;
}

// The sink is a process of its own, as in every run between two places of one machine.
session::Connector connector_to_sink(const HostJob& job, RunOutput& told, Clock& clock) {
  Settings settings = job.settings;
  settings.root = job.stay_within;
  const FarRights rights = settings.has(wire::k_flag_dry_run) ? FarRights::read_only : FarRights::read_write;
  const auto tell = [&told](const std::string& text) { told.on_notice(text); };
  return make_connector(
      settings, std::nullopt, rights,
      {tell, tell, [](const transport::RemoteLink&) {}, [tell](std::string_view line) { tell(std::string(line)); }},
      clock);
}

Status tell_end(const HostJob& job, const RunSummary& summary, session::CommandOutput& output) {
  return output.write(job.settings.json ? json_summary(summary) + "\n" : "nbackup: " + summary_line(summary) + "\n");
}

// Nothing where another generation was committed before the run held the set.
Result<std::optional<session::RunReport>> run_plan(const HostJob& job, const Plan& plan, std::chrono::seconds wait,
                                                   RunOutput& told, Clock& clock) {
  session::Job run = job_of(job, plan);
  run.options.wait = wait;
  bool is_outdated = false;
  run.on_opened = [&](const wire::Opened& opened) -> Status {
    is_outdated = opened.set && opened.generation != plan.from;
    if (!is_outdated) return {};
    return fail(Errc::locked, "another generation was committed meanwhile");
  };
  auto report = session::run(run, connector_to_sink(job, told, clock), {}, told, clock);
  if (!report && is_outdated) return std::nullopt;
  NB_TRY(report);
  return std::move(*report);
}

}  // namespace

bool rollback_only_looks(const Settings& settings) { return settings.has(wire::k_flag_dry_run); }

Result<int> run_rollback(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  RunOutput told(job.settings.json ? OutputForm::json : OutputForm::text, output);
  const SteadyTime began = clock.steady();
  Plan plan;
  std::optional<session::RunReport> report;
  while (!report) {
    NB_TRY_ASSIGN(plan, make_plan(job, clock));
    NB_TRY_ASSIGN(report, run_plan(job, plan, left_until(began + job.settings.wait, clock), told, clock));
  }
  RunSummary summary;
  summary.start.command = CommandId::rollback;
  summary.start.sources = {fmt::format("generation {}", plan.to)};
  summary.start.destination = plan.root_path;
  summary.start.dry_run = job.settings.has(wire::k_flag_dry_run);
  summary.report = *report;
  summary.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(clock.steady() - began);
  NB_TRY(tell_end(job, summary, output));
  NB_TRY(told.status());
  return report->exit_code;
}

}  // namespace nb::cli
