// SPDX-License-Identifier: Apache-2.0
// scrub: reads a set's files and tells which are damaged.
#include "cli/scrub.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/look_places.hpp"
#include "cli/quantities.hpp"
#include "cli/scrub_json.hpp"
#include "session/set_reader.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_shown_ranges = 4;

class Teller final : public session::ScrubObserver {
 public:
  Teller(const HostJob& job, session::CommandOutput& output) : m_job(job), m_output(output) {}

  Status on_damaged(const txn::Damaged& file, const std::string& reason) override {
    return line(m_job.settings.json ? json_damaged(file, reason) : damaged_line(file, reason));
  }
  Status on_edited(const txn::ScrubPlace& place) override {
    if (m_job.settings.json) return line(json_edited(place));
    return m_job.settings.quiet ? Status() : line("edited   " + shown_place(place.generation, place.path));
  }
  Status on_problem(const Error& error) override { return m_output.problem(error); }
  Status on_notice(const std::string& text) override { return m_output.notice(text); }

 private:
  Status line(const std::string& text) { return m_output.write(text + "\n"); }
  const HostJob& m_job;
  session::CommandOutput& m_output;
};

int exit_code_of(const session::ScrubReport& report) {
  const bool is_damaged = report.damaged_in_all + report.bad_records + report.pass.counts.damaged > 0;
  if (is_damaged) return info(Errc::damaged).exit_code;
  return report.pass.counts.unreadable > 0 ? info(Errc::partial).exit_code : 0;
}

void add_count(std::string& text, std::uint64_t count, std::string_view what) {
  if (count > 0) text += fmt::format(", {} {}", format_count(count), what);
}

}  // namespace

std::string shown_place(const std::optional<std::uint64_t>& generation, const RelPath& path) {
  return escape(path.str()) + (generation ? fmt::format(" in generation {}", *generation) : "");
}

std::string damaged_line(const txn::Damaged& file, std::string_view reason) {
  std::string text = fmt::format("damaged  {}: {}", shown_place(file.generation, file.path), reason);
  if (file.found_bytes != file.size) {
    text += fmt::format(", {} of {} bytes", format_count(file.found_bytes), format_count(file.size));
  }
  for (std::size_t i = 0; i < file.ranges.size() && i < k_shown_ranges; ++i) {
    const fs::Extent& range = file.ranges[i];
    text += fmt::format("{}{}-{}", i == 0 ? ", bytes " : ", ", range.offset, range.offset + range.length - 1);
  }
  return text + (file.ranges.size() > k_shown_ranges ? ", ..." : "");
}

std::string scrubbed_line(const std::string& root_path, const session::ScrubReport& report) {
  const txn::ScrubPass& pass = report.pass;
  const std::string part = pass.part.count == 1 ? "" : fmt::format("part {}/{} of ", pass.part.number, pass.part.count);
  std::string text = fmt::format("scrubbed {}{}: {}, {}", part, escape(root_path),
                                 format_counted(pass.counts.files, "file", "files"), format_bytes(pass.counts.bytes));
  add_count(text, pass.counts.damaged, "damaged");
  add_count(text, report.bad_records, report.bad_records == 1 ? "record damaged" : "records damaged");
  add_count(text, pass.counts.edited, "edited");
  add_count(text, pass.counts.unknown, "not known before");
  add_count(text, pass.counts.unreadable, "unreadable");
  const bool is_sound = pass.counts.damaged + report.bad_records + pass.counts.unreadable == 0;
  if (is_sound) text += ", none damaged";
  if (!report.ended) text += "; not all of it, the next scrub goes on from there";
  const std::uint64_t others =
      report.damaged_in_all > pass.counts.damaged ? report.damaged_in_all - pass.counts.damaged : 0;
  if (others > 0) text += fmt::format("; {} found damaged before", format_count(others));
  return text;
}

Result<int> run_scrub(const HostJob& job, session::CommandOutput& output, Clock& clock) {
  NB_TRY_ASSIGN(const session::UnlockedSet opened,
                session::open_set_unlocked(job.place, job.stay_within, job.client, clock));
  NB_TRY(check_whole(job, opened.root_path, opened.below));
  Teller teller(job, output);
  const Settings& settings = job.settings;
  const session::ScrubOptions options{settings.part, settings.scrub_time, settings.bytes_per_second};
  NB_TRY_ASSIGN(const session::ScrubReport report, session::scrub(*opened.set, options, teller, clock));
  if (settings.json) {
    NB_TRY(output.write(json_scrubbed(opened.root_path, report) + "\n"));
  } else if (!settings.quiet) {
    NB_TRY(output.write("nbackup: " + scrubbed_line(opened.root_path, report) + "\n"));
    if (report.damaged_in_all > 0) {
      NB_TRY(output.write("nbackup: a push brings anew what its source still has; for the rest: nbackup heal\n"));
    }
  }
  return exit_code_of(report);
}

}  // namespace nb::cli
