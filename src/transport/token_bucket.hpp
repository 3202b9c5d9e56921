// SPDX-License-Identifier: Apache-2.0
// TokenBucket: how much may pass at a rate (--bwlimit). It says how long to wait and does not wait itself. Used by one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace nb::transport {

class TokenBucket {
 public:
  // `bytes_per_second` is not 0. The bucket, full at first, holds an eighth of a second's worth, and at least 4 KiB, so
  // that the average over a second keeps to the rate.
  TokenBucket(std::uint64_t bytes_per_second, SteadyTime now);

  [[nodiscard]] std::size_t size() const { return m_size; }  // bytes
  // Takes `count` bytes, at most a bucket, and returns 0; or takes nothing and returns how long to wait before asking
  // again: 100 ms at most, so that who waits can look up.
  std::chrono::milliseconds take(std::size_t count, SteadyTime now);

 private:
  double m_rate;  // bytes a second
  std::size_t m_size;
  double m_tokens;
  SteadyTime m_filled_at;
};

}  // namespace nb::transport
