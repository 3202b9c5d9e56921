// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::cli;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST_CASE("the progress line has bytes, files, rate, time, phase, and an eta where the end is known", "[cli]") {
  ProgressState state;
  state.phase = wire::PhaseKind::transfer;
  state.counts.content_bytes = std::uint64_t{1} << 30;
  state.counts.entries = 12345;
  state.bytes_per_second = std::uint64_t{1} << 20;
  state.elapsed = seconds(67);
  CHECK(progress_line(state, 80) == "1.0 GiB  12,345 files  1.0 MiB/s  01:07  transfer");
  state.expected_bytes = (std::uint64_t{1} << 30) + (std::uint64_t{12} << 20);
  CHECK(progress_line(state, 80) == "1.0 GiB  12,345 files  1.0 MiB/s  01:07  eta 00:12  transfer");
  state.expected_bytes = 5;  // more came than was expected
  CHECK(progress_line(state, 80).find("eta 00:00") != std::string::npos);
  state.bytes_per_second = 0;
  CHECK(progress_line(state, 80).find("eta") == std::string::npos);
}

TEST_CASE("the progress line never exceeds the terminal", "[cli]") {
  ProgressState state;
  state.counts.content_bytes = ~std::uint64_t{0};
  state.counts.entries = ~std::uint64_t{0};
  state.bytes_per_second = 1;
  state.expected_bytes = ~std::uint64_t{0};
  state.counts.content_bytes = 0;
  CHECK(progress_line(state, 79).size() <= 79);
  CHECK(progress_line(state, 10).size() == 10);
  CHECK(progress_line(state, 0).empty());
}

TEST_CASE("the rate is that of the last seconds", "[cli]") {
  RateMeter meter;
  const SteadyTime start{};
  CHECK(meter.bytes_per_second() == 0);
  meter.add(start, 0);
  CHECK(meter.bytes_per_second() == 0);
  meter.add(start + milliseconds(100), 1000);
  CHECK(meter.bytes_per_second() == 0);  // too short to say
  for (int i = 1; i <= 100; ++i) meter.add(start + seconds(i), static_cast<std::uint64_t>(i) * 1000);
  CHECK(meter.bytes_per_second() == 1000);
  for (int i = 101; i <= 110; ++i) meter.add(start + seconds(i), 100000);
  CHECK(meter.bytes_per_second() == 0);
}
