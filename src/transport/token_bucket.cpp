// SPDX-License-Identifier: Apache-2.0
#include "transport/token_bucket.hpp"

#include <algorithm>
#include <cmath>

namespace nb::transport {
namespace {

constexpr std::uint64_t k_least_bytes = 4096;
constexpr std::chrono::milliseconds k_longest_pause{100};

}  // namespace

TokenBucket::TokenBucket(std::uint64_t bytes_per_second, SteadyTime now)
    : m_rate(static_cast<double>(bytes_per_second)),
      m_size(static_cast<std::size_t>(std::max(bytes_per_second / 8, k_least_bytes))),
      m_tokens(static_cast<double>(m_size)),
      m_filled_at(now) {}

std::chrono::milliseconds TokenBucket::take(std::size_t count, SteadyTime now) {
  const auto wanted = static_cast<double>(count);
  const std::chrono::duration<double> elapsed = now - m_filled_at;
  m_tokens = std::min(m_tokens + elapsed.count() * m_rate, static_cast<double>(m_size));
  m_filled_at = now;
  if (m_tokens >= wanted) {
    m_tokens -= wanted;
    return std::chrono::milliseconds(0);
  }
  const double ms = std::ceil((wanted - m_tokens) / m_rate * 1000);
  return std::min(std::chrono::milliseconds(std::llround(std::clamp(ms, 1.0, 1000.0))), k_longest_pause);
}

}  // namespace nb::transport
