// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <algorithm>
#include <thread>

namespace nb {

WallTime SystemClock::wall() const {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

void SystemClock::pause(std::chrono::milliseconds duration) { std::this_thread::sleep_for(duration); }

std::chrono::seconds left_until(SteadyTime until, const Clock& clock) {
  return std::max(std::chrono::ceil<std::chrono::seconds>(until - clock.steady()), std::chrono::seconds(0));
}

}  // namespace nb
