// SPDX-License-Identifier: Apache-2.0
#include "base/clock.hpp"

#include <thread>

namespace nb {

WallTime SystemClock::wall() const {
  return std::chrono::time_point_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now());
}

SteadyTime SystemClock::steady() const { return std::chrono::steady_clock::now(); }

void SystemClock::pause(std::chrono::milliseconds duration) { std::this_thread::sleep_for(duration); }

}  // namespace nb
