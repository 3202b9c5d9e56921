// SPDX-License-Identifier: Apache-2.0
#include "transport/throttle.hpp"

#include <catch2/catch.hpp>
#include <functional>

namespace nb::transport {
namespace {

using namespace std::chrono_literals;

class FakeClock final : public Clock {
 public:
  [[nodiscard]] WallTime wall() const override { return {}; }
  [[nodiscard]] SteadyTime steady() const override { return m_now; }
  void pause(std::chrono::milliseconds duration) override {
    m_now += duration;
    m_longest = std::max(m_longest, duration);
    if (on_pause) on_pause();
  }
  std::function<void()> on_pause;
  [[nodiscard]] std::chrono::milliseconds longest() const { return m_longest; }

 private:
  SteadyTime m_now{};
  std::chrono::milliseconds m_longest{};
};

struct Sunk {
  std::size_t bytes = 0;
  std::size_t largest = 0;
  bool closed = false;
  bool finished = false;
};

class Sink final : public ByteStream {
 public:
  explicit Sink(Sunk& sunk) : m_sunk(sunk) {}
  Result<std::size_t> read(std::span<std::byte>, std::chrono::milliseconds) override { return std::size_t{0}; }
  Status write(ByteView data) override {
    m_sunk.bytes += data.size();
    m_sunk.largest = std::max(m_sunk.largest, data.size());
    return {};
  }
  Status finish_writing() override {
    m_sunk.finished = true;
    return {};
  }
  void close_now() override { m_sunk.closed = true; }
  PeerEnd wait_end(std::chrono::milliseconds) override { return {3, {}, {}}; }
  [[nodiscard]] std::string describe() const override { return "sink"; }

 private:
  Sunk& m_sunk;
};

}  // namespace

TEST_CASE("a throttle keeps to its rate", "[transport]") {
  FakeClock clock;
  Sunk sunk;
  const auto stream = make_throttle(std::make_unique<Sink>(sunk), {100'000}, clock);
  const SteadyTime start = clock.steady();
  for (int i = 0; i < 100; ++i) REQUIRE(stream->write(Bytes(10'000)).has_value());
  CHECK(sunk.bytes == 1'000'000);
  CHECK(sunk.largest <= 12'500);
  const std::chrono::duration<double> took = clock.steady() - start;
  CHECK(took.count() > 9.8);
  CHECK(took.count() < 10.2);
}

TEST_CASE("a rate below the smallest bucket still gets there", "[transport]") {
  FakeClock clock;
  Sunk sunk;
  const auto stream = make_throttle(std::make_unique<Sink>(sunk), {1'000}, clock);
  const SteadyTime start = clock.steady();
  REQUIRE(stream->write(Bytes(24'096)).has_value());
  const std::chrono::duration<double> took = clock.steady() - start;
  CHECK(took.count() > 19.9);
  CHECK(took.count() < 20.2);
  CHECK(clock.longest() <= 100ms);
}

TEST_CASE("closing ends a write that waits for its turn", "[transport]") {
  FakeClock clock;
  Sunk sunk;
  const auto stream = make_throttle(std::make_unique<Sink>(sunk), {1'000}, clock);
  clock.on_pause = [&] { stream->close_now(); };
  const Status written = stream->write(Bytes(100'000));
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::connection_lost);
  CHECK(sunk.closed);
}

TEST_CASE("everything else is passed through, and no limit means no decorator", "[transport]") {
  FakeClock clock;
  Sunk sunk;
  const auto stream = make_throttle(std::make_unique<Sink>(sunk), {1'000}, clock);
  CHECK(stream->finish_writing().has_value());
  CHECK(sunk.finished);
  CHECK(stream->describe() == "sink");
  CHECK(stream->wait_end(0ms).exit_status == 3);
  auto plain = std::make_unique<Sink>(sunk);
  const ByteStream* address = plain.get();
  CHECK(make_throttle(std::move(plain), {0}, clock).get() == address);
}

}  // namespace nb::transport
