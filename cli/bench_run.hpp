// SPDX-License-Identifier: Apache-2.0
// Carries bench out: plans, measures, and keeps to the time. What one measurement fails with is noted in the result and
// the rest goes on; only the first connection and an interruption end it.
#pragma once

#include <functional>

#include "cli/bench_link.hpp"
#include "cli/bench_result.hpp"

namespace nb::cli {

struct BenchOptions {
  std::string host;                       // as shown
  std::string directory;                  // on the other end, whose disk is written to
  std::optional<std::string> source;      // here: read
  std::optional<std::string> write_here;  // here: written to
  std::chrono::milliseconds time{60000};
  BenchWish wish;
};

// What is being done, and how far it is: 0 to 1 of the time.
using BenchProgress = std::function<void(const std::string& what, double share)>;

Result<BenchResult> run_measurements(BenchLinks& links, const BenchOptions& options, const BenchProgress& progress,
                                     const Clock& clock);

}  // namespace nb::cli
