// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/quantities.hpp"
#include "cli/reporter.hpp"

namespace nb::cli {
namespace {

constexpr std::chrono::seconds k_window{5};
constexpr std::chrono::milliseconds k_least_span{200};
constexpr std::uint64_t k_longest_eta = 100ULL * 3600;

std::string eta(const ProgressState& state) {
  if (!state.expected_bytes || state.bytes_per_second == 0) return {};
  const std::uint64_t left = *state.expected_bytes - std::min(*state.expected_bytes, state.counts.content_bytes);
  const std::uint64_t seconds = std::min(left / state.bytes_per_second, k_longest_eta);
  return "  eta " + format_elapsed(std::chrono::seconds(seconds));
}

}  // namespace

void RateMeter::add(SteadyTime now, std::uint64_t total_bytes) {
  m_samples.push_back({now, total_bytes});
  // The one before the window stays, so that the span is never shorter than it.
  while (m_samples.size() > 2 && now - m_samples[1].time >= k_window) m_samples.pop_front();
}

std::uint64_t RateMeter::bytes_per_second() const {
  if (m_samples.size() < 2) return 0;
  const auto span = m_samples.back().time - m_samples.front().time;
  if (span < k_least_span || m_samples.back().bytes < m_samples.front().bytes) return 0;
  const auto bytes = static_cast<double>(m_samples.back().bytes - m_samples.front().bytes);
  return static_cast<std::uint64_t>(bytes / std::chrono::duration<double>(span).count());
}

std::string progress_line(const ProgressState& state, std::size_t columns) {
  std::string line =
      fmt::format("{}  {}  {}/s  {}{}  {}", format_bytes(state.counts.content_bytes),
                  format_counted(state.counts.entries, "file", "files"), format_bytes(state.bytes_per_second),
                  format_elapsed(state.elapsed), eta(state), phase_name(state.phase));
  if (line.size() > columns) line.resize(columns);  // ASCII throughout
  return line;
}

}  // namespace nb::cli
