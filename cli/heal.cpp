// SPDX-License-Identifier: Apache-2.0
// heal: restores damaged files of a set from sound copies.
#include "cli/heal.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/look_places.hpp"
#include "cli/quantities.hpp"
#include "cli/scrub.hpp"
#include "cli/scrub_json.hpp"
#include "session/set_reader.hpp"

namespace nb::cli {
namespace {

std::string line_of(const txn::Damaged& file, session::Healing outcome, const std::string& source) {
  const std::string place = shown_place(file.generation, file.path);
  switch (outcome) {
    case session::Healing::done: return fmt::format("healed   {}: from {}", place, escape(source));
    case session::Healing::possible: return fmt::format("could be healed  {}: from {}", place, escape(source));
    case session::Healing::no_source: return fmt::format("damaged  {}: no sound copy was found", place);
    case session::Healing::failed: return fmt::format("damaged  {}: not healed: {}", place, escape(source));
  }
  return place;
}

class Teller final : public session::HealObserver {
 public:
  Teller(const HostJob& job, session::CommandOutput& output) : m_job(job), m_output(output) {}

  Status on_file(const txn::Damaged& file, session::Healing outcome, const std::string& source) override {
    const bool is_good = outcome == session::Healing::done || outcome == session::Healing::possible;
    if (m_job.settings.json) return m_output.write(json_healed_file(file, outcome, source) + "\n");
    return m_job.settings.quiet && is_good ? Status() : m_output.write(line_of(file, outcome, source) + "\n");
  }
  Status on_notice(const std::string& text) override { return m_output.notice(text); }

 private:
  const HostJob& m_job;
  session::CommandOutput& m_output;
};

Status tell_end(const HostJob& job, const HealSummary& summary, session::CommandOutput& output) {
  if (job.settings.json) return output.write(json_healed(summary) + "\n");
  if (job.settings.quiet) return {};
  const session::HealReport& report = summary.report;
  const std::string root = escape(summary.root_path);
  if (report.healed + report.left == 0) {
    return output.write(fmt::format("nbackup: {}: nothing is known to be damaged\n", root));
  }
  const std::string left = report.left == 0 ? "none left" : fmt::format("{} left", format_count(report.left));
  return output.write(fmt::format("nbackup: {} {} of {}, {}\n", summary.dry_run ? "could heal" : "healed",
                                  format_counted(report.healed, "file", "files"), root, left));
}

Result<HealSummary> look(const HostJob& job, const session::HealOptions& options, Teller& teller, Clock& clock) {
  NB_TRY_ASSIGN(const session::UnlockedSet opened,
                session::open_set_unlocked(job.place, job.stay_within, job.client, clock));
  NB_TRY(check_whole(job, opened.root_path, opened.below));
  NB_TRY_ASSIGN(const session::HealReport report, session::heal_dry(*opened.set, options, teller, clock));
  return HealSummary{opened.root_path, report, true};
}

Result<HealSummary> work(const HostJob& job, const session::HealOptions& options, Teller& teller,
                         session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(const session::SetWriter writer, open_to_write(job, output, clock));
  NB_TRY_ASSIGN(const session::HealReport report, session::heal(*writer.set, *writer.lock, options, teller, clock));
  return HealSummary{writer.root_path, report, false};
}

}  // namespace

bool heal_only_looks(const Settings& settings) { return settings.has(wire::k_flag_dry_run); }

Result<int> run_heal(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  Teller teller(job, output);
  const session::HealOptions options{job.settings.from, job.stay_within, job.settings.wait_readers};
  NB_TRY_ASSIGN(const HealSummary summary, heal_only_looks(job.settings) ? look(job, options, teller, clock)
                                                                         : work(job, options, teller, output, clock));
  NB_TRY(tell_end(job, summary, output));
  if (summary.report.cut_short) return tl::make_unexpected(*summary.report.cut_short);
  return summary.report.left == 0 ? 0 : info(Errc::damaged).exit_code;
}

}  // namespace nb::cli
