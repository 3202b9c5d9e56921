// SPDX-License-Identifier: Apache-2.0
#include "cli/drill_report.hpp"

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/json_events.hpp"
#include "cli/outcome.hpp"
#include "cli/print.hpp"
#include "cli/quantities.hpp"
#include "cli/terminal.hpp"

namespace nb::cli {

int drill_exit_code(const DrillResult& result) {
  if (result.counts.differing != 0) return info(Errc::differs).exit_code;
  return result.problems != 0 ? info(Errc::partial).exit_code : 0;
}

std::string summary_line(const DrillResult& result) {
  const DrillCounts& counts = result.counts;
  std::string text = fmt::format("drill of {}: {}, {} restored", escape(result.pool),
                                 format_counted(counts.files, "file", "files"), format_bytes(counts.bytes));
  if (counts.files != 0) {
    text += fmt::format(", {} compared with the set's record, {} with the source", format_count(counts.with_record),
                        format_count(counts.with_source));
  }
  if (counts.with_nothing != 0) text += fmt::format(", {} with neither", format_count(counts.with_nothing));
  text += fmt::format(", {} differ", format_count(counts.differing));
  if (result.problems != 0) text += ", " + format_counted(result.problems, "problem", "problems");
  if (result.left_out != 0) {
    text += fmt::format(", {} ({}) left out beyond --limit", format_count(result.left_out),
                        format_bytes(result.left_out_bytes));
  }
  return text + ", " + format_elapsed(std::chrono::round<std::chrono::seconds>(result.elapsed));
}

std::string_view name_of(DifferenceFrom from) {
  switch (from) {
    case DifferenceFrom::record: return "record";
    case DifferenceFrom::source: return "source";
    case DifferenceFrom::size: return "size";
  }
  return "unknown";
}

std::string difference_line(const SampledFile& file, DifferenceFrom from, const std::string& where) {
  const std::string name = fmt::format("{} (generation {}): ", escape(file.path.str()), file.generation);
  switch (from) {
    case DifferenceFrom::record: return name + "what was restored is not what the set recorded";
    case DifferenceFrom::source: return name + "differs from " + escape(where) + ", of the same size and time";
    case DifferenceFrom::size: return name + "restored with another size";
  }
  return name;
}

void DrillTeller::on_problem(const Error& error) {
  // A drill is about contents: what a temporary place cannot hold of owners and attributes is no finding.
  if (error.code == Errc::metadata_lost) return;
  ++m_problems;
  if (m_settings.outcome != nullptr) m_settings.outcome->add_problem(error);
  if (m_settings.json) print_out("{}\n", json_problem(error));
  print_error(error);
}

void DrillTeller::on_notice(const std::string& text) {
  if (m_settings.json) print_out("{}\n", json_notice(text));
}

void DrillTeller::on_dropped(std::uint64_t generation, std::uint64_t files) {
  const std::string text = fmt::format("generation {} was dropped meanwhile, and the {} chosen from it left out",
                                       generation, format_counted(files, "file", "files"));
  on_notice(text);
  print_message(text);
}

void DrillTeller::on_difference(const SampledFile& file, DifferenceFrom from, const std::string& where) {
  const std::string line = difference_line(file, from, where);
  if (m_settings.outcome != nullptr) m_settings.outcome->add_line(line);
  if (m_settings.json) print_out("{}\n", json_difference(file, from, where));
  print_message(line);
}

void DrillTeller::on_result(const DrillResult& result) {
  if (m_settings.json) {
    print_out("{}\n", json_drill(result));
  } else if (!m_settings.quiet) {
    print_out("nbackup: {}\n", summary_line(result));
  }
}

}  // namespace nb::cli
