// SPDX-License-Identifier: Apache-2.0
// What a drill says: its findings one by one, and what they come to.
#pragma once

#include <chrono>
#include <string>

#include "cli/drill_sample.hpp"
#include "cli/settings.hpp"
#include "session/observer.hpp"

namespace nb::cli {

enum class DifferenceFrom : std::uint8_t {
  record,  // the digest that the set recorded
  source,  // the file it was pushed from, which has the same size and time
  size,
};

struct DrillCounts {
  std::uint64_t files = 0;  // restored and read
  std::uint64_t bytes = 0;  // of these
  std::uint64_t with_record = 0;
  std::uint64_t with_source = 0;
  std::uint64_t with_nothing = 0;  // neither was to be had
  std::uint64_t differing = 0;     // files
};

struct DrillResult {
  std::string pool;  // as shown
  DrillCounts counts;
  std::uint64_t problems = 0;  // files that could not be restored, and whatever else was told
  std::uint64_t left_out = 0;
  std::uint64_t left_out_bytes = 0;
  std::chrono::milliseconds elapsed{0};
};

// 40 if something differs, 23 if something could not be restored, else 0.
int drill_exit_code(const DrillResult& result);
// "drill of rpi4:/pool: 100 files, 12.3 MiB restored, 98 compared with the set's record, 80 with the source, 0 differ,
// 00:03". Names are escaped; no newline.
std::string summary_line(const DrillResult& result);
// "letters/aunt.txt (generation 7): not what the set recorded". `where`: the source.
std::string difference_line(const SampledFile& file, DifferenceFrom from, const std::string& where);
// "record", "source", "size".
std::string_view name_of(DifferenceFrom from);

// Tells all of it in the form that the settings ask for. As the observer of restores it lets what is no finding pass.
class DrillTeller final : public session::Observer {
 public:
  explicit DrillTeller(const Settings& settings) : m_settings(settings) {}

  void on_phase(wire::PhaseKind) override {}
  void on_progress(const session::Counts&) override {}
  void on_item(const wire::Item&) override {}
  void on_problem(const Error& error) override;
  void on_notice(const std::string& text) override;
  // A generation that files were chosen from is not kept any more.
  void on_dropped(std::uint64_t generation, std::uint64_t files);
  void on_difference(const SampledFile& file, DifferenceFrom from, const std::string& where);
  void on_result(const DrillResult& result);
  [[nodiscard]] std::uint64_t problems() const { return m_problems; }

 private:
  const Settings& m_settings;
  std::uint64_t m_problems = 0;
};

}  // namespace nb::cli
