// SPDX-License-Identifier: Apache-2.0
#include "transport/throttle.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace nb::transport {
namespace {

constexpr std::uint64_t k_least_bucket_bytes = 4096;
constexpr std::chrono::milliseconds k_longest_pause{100};

class Throttle final : public ByteStream {
 public:
  Throttle(std::unique_ptr<ByteStream> inner, std::uint64_t rate, Clock& clock)
      : m_inner(std::move(inner)),
        m_clock(clock),
        m_rate(static_cast<double>(rate)),
        m_bucket(std::max(rate / 8, k_least_bucket_bytes)),
        m_tokens(static_cast<double>(m_bucket)),
        m_filled_at(clock.steady()) {}

  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds inactivity) override {
    return m_inner->read(out, inactivity);
  }
  Status write(ByteView data) override;
  Status finish_writing() override { return m_inner->finish_writing(); }
  void close_now() override {
    m_closed = true;
    m_inner->close_now();
  }
  PeerEnd wait_end(std::chrono::milliseconds limit) override { return m_inner->wait_end(limit); }
  [[nodiscard]] std::string describe() const override { return m_inner->describe(); }

 private:
  Status spend(std::size_t count);

  std::unique_ptr<ByteStream> m_inner;
  Clock& m_clock;
  double m_rate;  // bytes a second
  std::uint64_t m_bucket;
  double m_tokens;
  SteadyTime m_filled_at;
  std::atomic<bool> m_closed{false};
};

// Waits until `count` bytes (at most a bucket) may go out, and takes them.
Status Throttle::spend(std::size_t count) {
  const auto wanted = static_cast<double>(count);
  while (true) {
    const SteadyTime now = m_clock.steady();
    const std::chrono::duration<double> elapsed = now - m_filled_at;
    m_tokens = std::min(m_tokens + elapsed.count() * m_rate, static_cast<double>(m_bucket));
    m_filled_at = now;
    if (m_tokens >= wanted) break;
    const double ms = std::ceil((wanted - m_tokens) / m_rate * 1000);
    m_clock.pause(std::min(std::chrono::milliseconds(std::llround(std::clamp(ms, 1.0, 1000.0))), k_longest_pause));
    if (m_closed) return fail(Errc::connection_lost, "write");
  }
  m_tokens -= wanted;
  return {};
}

Status Throttle::write(ByteView data) {
  while (!data.empty()) {
    const std::size_t count = std::min<std::size_t>(data.size(), m_bucket);
    NB_TRY(spend(count));
    NB_TRY(m_inner->write(data.first(count)));
    data = data.subspan(count);
  }
  return {};
}

}  // namespace

std::unique_ptr<ByteStream> make_throttle(std::unique_ptr<ByteStream> inner, ThrottleOptions options, Clock& clock) {
  if (options.bytes_per_second == 0) return inner;
  return std::make_unique<Throttle>(std::move(inner), options.bytes_per_second, clock);
}

}  // namespace nb::transport
