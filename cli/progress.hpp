// SPDX-License-Identifier: Apache-2.0
// The progress line: what it says, given counts and times. Pure; terminal.cpp draws it.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "session/job.hpp"

namespace nb::cli {

// Bytes a second over the last few seconds.
class RateMeter {
 public:
  void add(SteadyTime now, std::uint64_t total_bytes);
  // 0 until two samples lie apart.
  [[nodiscard]] std::uint64_t bytes_per_second() const;

 private:
  struct Sample {
    SteadyTime time;
    std::uint64_t bytes;
  };
  std::deque<Sample> m_samples;  // oldest first, about five seconds' worth
};

struct ProgressState {
  wire::PhaseKind phase = wire::PhaseKind::compare;
  session::Counts counts;
  std::uint64_t bytes_per_second = 0;
  std::optional<std::uint64_t> expected_bytes;  // of content in all, where that is known
  std::chrono::seconds elapsed{0};
};

// At most `columns` columns, without a newline: "1.2 GiB  12,345 files  88 MiB/s  01:07  eta 00:12  transfer". What
// does not fit is cut at the end.
std::string progress_line(const ProgressState& state, std::size_t columns);

}  // namespace nb::cli
