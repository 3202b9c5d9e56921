// SPDX-License-Identifier: Apache-2.0
#include "transport/retry.hpp"

#include <algorithm>

namespace nb::transport {

std::chrono::milliseconds back_off_delay(const BackOff& back_off, unsigned attempt, std::uint64_t random) {
  std::chrono::milliseconds whole = std::min(back_off.first, back_off.cap);
  for (unsigned i = 1; i < attempt && whole < back_off.cap; ++i) whole = std::min(whole * 2, back_off.cap);
  const auto half = static_cast<std::uint64_t>(whole.count()) / 2;
  return whole - std::chrono::milliseconds(random % (half + 1));
}

}  // namespace nb::transport
