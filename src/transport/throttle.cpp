// SPDX-License-Identifier: Apache-2.0
#include "transport/throttle.hpp"

#include <algorithm>
#include <atomic>

#include "transport/token_bucket.hpp"

namespace nb::transport {
namespace {

class Throttle final : public ByteStream {
 public:
  Throttle(std::unique_ptr<ByteStream> inner, std::uint64_t rate, Clock& clock)
      : m_inner(std::move(inner)), m_clock(clock), m_bucket(rate, clock.steady()) {}

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
  TokenBucket m_bucket;
  std::atomic<bool> m_closed{false};
};

// Waits until `count` bytes (at most a bucket) may go out, and takes them.
Status Throttle::spend(std::size_t count) {
  while (true) {
    const std::chrono::milliseconds wait = m_bucket.take(count, m_clock.steady());
    if (wait.count() == 0) return {};
    m_clock.pause(wait);
    if (m_closed) return fail(Errc::connection_lost, "write");
  }
}

Status Throttle::write(ByteView data) {
  while (!data.empty()) {
    const std::size_t count = std::min<std::size_t>(data.size(), m_bucket.size());
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
