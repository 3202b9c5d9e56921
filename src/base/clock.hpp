// SPDX-License-Identifier: Apache-2.0
// Clock: the seam through which time is read, so that tests drive it. Wall time stamps generations; steady time
// measures timeouts and rates.
#pragma once

#include <chrono>

namespace nb {

using SteadyTime = std::chrono::steady_clock::time_point;
using WallTime = std::chrono::sys_time<std::chrono::nanoseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual WallTime wall() const = 0;
  [[nodiscard]] virtual SteadyTime steady() const = 0;
  // Blocks the calling thread; only back-off and waiting for a lock use it.
  virtual void pause(std::chrono::milliseconds duration) = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override;
  [[nodiscard]] SteadyTime steady() const override;
  void pause(std::chrono::milliseconds duration) override;
};

// Whole seconds, rounded up; none once `until` has come.
std::chrono::seconds left_until(SteadyTime until, const Clock& clock);

}  // namespace nb
