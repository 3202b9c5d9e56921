// SPDX-License-Identifier: Apache-2.0
// Outcome: what came of a command, noted while it runs, for those who hear of it at its end (cli/reported_run.hpp):
// hooks, a ping, a mail. Commands note it where Settings::outcome says so; all texts are escaped.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/reporter.hpp"

namespace nb::cli {

// Of a run that came to its end.
struct RunFigures {
  std::optional<std::uint64_t> generation;  // that was made, or read
  std::uint64_t files = 0;                  // entries of any type in the source
  std::uint64_t bytes = 0;                  // of its regular files
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

struct Outcome {
  static constexpr std::size_t k_most_lines = 50;

  std::string summary;             // the line that says what was done; empty: none was
  std::string error;               // what ended the command early
  std::vector<std::string> lines;  // of problems and warnings, the first ones
  std::uint64_t problems = 0;      // paths that could not be handled
  std::uint64_t losses = 0;        // those of them of which only metadata are missing
  std::optional<RunFigures> figures;

  void add_line(std::string line);
  void add_problem(const Error& problem);
  // A command may consist of several runs: their summaries stand side by side, and the figures are those of the first.
  void add_run(const RunSummary& run);
};

// Notes what the others tell. `outcome` outlives it.
std::unique_ptr<Reporter> make_outcome_reporter(Outcome& outcome);

// Finds the last line in a command's output, which comes in pieces.
class LastLine {
 public:
  void add(std::string_view bytes);
  // Without "nbackup: " before it; escaped.
  [[nodiscard]] std::string text() const;

 private:
  std::string m_ended;  // the last line that had an end, and was not empty
  std::string m_begun;
};

}  // namespace nb::cli
