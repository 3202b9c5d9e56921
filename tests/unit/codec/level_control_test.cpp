// SPDX-License-Identifier: Apache-2.0
// The level control against simulated senders: a source of given speed, a link of given speed with a buffer behind
// write(), and a compressor whose speed and ratio are those of its level.
#include "codec/level_control.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace nb;
using namespace nb::codec;
using std::chrono::nanoseconds;

namespace {

constexpr double k_frame = 128 * 1024;

struct Machine {
  double source = 1e12;     // bytes a second that are there to be sent
  double link = 1e12;       // bytes a second that leave
  double processor = 1;     // against the speeds below
  double contention = 0;    // by how much a busy compressor slows the source: 1 means by all of its own time
  double buffer = 1 << 20;  // bytes that a write() leaves on its way
};

double speed_of(int level) {
  switch (level) {
    case -5: return 700e6;
    case -1: return 550e6;
    case 1: return 430e6;
    case 3: return 250e6;
    case 6: return 110e6;
    case 9: return 60e6;
    default: return 30e6;
  }
}

double ratio_of(int level) { return level < 0 ? 0.4 : 0.30 - 0.005 * level; }

struct Simulated {
  LevelControl control;
  Machine machine;
  double now = 0;
  double source_free = 0;  // when the next frame is there
  double link_free = 0;    // when the link has sent all it was given
  double written = 0;

  static nanoseconds ns(double seconds) { return nanoseconds(static_cast<std::int64_t>(seconds * 1e9)); }

  void frame() {
    FrameCost cost;
    cost.payload_bytes = static_cast<std::uint64_t>(k_frame);
    const double began = std::max(now, source_free);
    cost.idle = ns(began - now);
    now = began;
    const auto level = control.level();
    double wire = k_frame;
    double compressing = 0;
    if (level) {
      compressing = k_frame / (speed_of(*level) * machine.processor);
      wire *= ratio_of(*level);
      cost.compressed = true;
      cost.compressing = ns(compressing);
    }
    source_free = began + k_frame / machine.source + machine.contention * compressing;
    now += compressing;
    cost.wire_bytes = static_cast<std::uint64_t>(wire);
    written += wire;
    // write() returns when what was written fits the buffer.
    link_free = std::max(link_free, now) + wire / machine.link;
    const double blocked = std::max(0.0, link_free - machine.buffer / machine.link - now);
    cost.writing = ns(blocked);
    now += blocked;
    control.add(cost);
  }

  // Payload bytes a second over so many bytes.
  double run(double bytes) {
    const double began = now;
    for (double done = 0; done < bytes; done += k_frame) frame();
    return bytes / (now - began);
  }
};

double rate(const Machine& machine, Compression wish, double bytes) {
  Simulated simulated{LevelControl(wish), machine};
  return simulated.run(bytes);
}

constexpr Compression k_off{CompressionMode::off, 0};

}  // namespace

TEST_CASE("a fixed level and none at all stay what they are", "[codec]") {
  LevelControl fixed({CompressionMode::fixed, 7});
  LevelControl off(k_off);
  FrameCost slow{1 << 22, 1 << 20, true, std::chrono::seconds(10), nanoseconds(1), nanoseconds(0)};
  for (int i = 0; i < 100; ++i) {
    CHECK(fixed.level() == 7);
    CHECK(off.level() == std::nullopt);
    fixed.add(slow);
    off.add(slow);
  }
}

TEST_CASE("on any machine and link automatic is never slower than off by more than five percent", "[codec]") {
  for (const double source : {20e6, 100e6, 300e6, 600e6, 1200e6, 3000e6}) {
    for (const double link : {1e6, 12e6, 50e6, 117e6, 300e6, 600e6, 1200e6, 5000e6}) {
      for (const double processor : {0.1, 0.3, 1.0, 2.0}) {
        for (const double contention : {0.0, 0.3}) {
          // The deeper buffer is that of a long line.
          const Machine machine{source, link, processor, contention, contention > 0 ? 4e6 : 1e6};
          CAPTURE(source, link, processor, contention);
          const double bytes = 3e9;
          const double once = 0.06;  // seconds that it may take to find out about the link
          CHECK(bytes / rate(machine, {}, bytes) <= bytes / rate(machine, k_off, bytes) / 0.95 + once);
        }
      }
    }
  }
}

TEST_CASE("a slow link gets a high level, and is used for several times its worth", "[codec]") {
  Simulated simulated{LevelControl({}), Machine{1e9, 1.2e6, 1, 0}};
  const double reached = simulated.run(100e6);
  CHECK(simulated.control.level() == 12);
  CHECK(reached > 3.5 * 1.2e6);
  // 100 Mbit/s.
  Simulated faster{LevelControl({}), Machine{1e9, 12e6, 1, 0}};
  CHECK(faster.run(500e6) > 3 * 12e6);
  CHECK(faster.control.level().value_or(0) >= 6);
}

TEST_CASE("deep buffers on the way do not pass for a fast link", "[codec]") {
  for (const double link : {1.2e6, 12e6, 117e6}) {
    CAPTURE(link);
    Simulated simulated{LevelControl({}), Machine{1e9, link, 1, 0, 5e6}};
    simulated.run(32e6);
    CHECK(simulated.written < 0.45 * 32e6);
    // Where it takes a slow processor too long to find out, raw is a short episode.
    Simulated slower{LevelControl({}), Machine{1e9, link, 0.3, 0, 5e6}};
    slower.run(32e6);
    CHECK(slower.written < 0.6 * 32e6);
  }
}

TEST_CASE("a link of 1 Gbit/s gains, too, on a processor that can", "[codec]") {
  CHECK(rate(Machine{1e9, 117e6, 1, 0}, {}, 1e9) > 1.8 * 117e6);
}

TEST_CASE("a link faster than any compressor gets raw frames", "[codec]") {
  Simulated simulated{LevelControl({}), Machine{2e9, 5e9, 1, 0}};
  simulated.run(500e6);
  CHECK(simulated.control.level() == std::nullopt);
}

TEST_CASE("a slow source is compressed all the same: the processor has nothing else to do", "[codec]") {
  Simulated simulated{LevelControl({}), Machine{20e6, 1e9, 1, 0}};
  simulated.run(200e6);
  CHECK(simulated.control.level() == 1);
}

TEST_CASE("the level follows a link that changes", "[codec]") {
  Simulated simulated{LevelControl({}), Machine{2e9, 5e9, 1, 0}};
  simulated.run(500e6);
  REQUIRE(simulated.control.level() == std::nullopt);
  simulated.machine.link = 5e6;
  simulated.run(500e6);
  CHECK(simulated.control.level().value_or(0) >= 9);
  simulated.machine.link = 5e9;
  simulated.run(500e6);
  CHECK(simulated.control.level() == std::nullopt);
}

TEST_CASE("data that pass raw by themselves do not move the level", "[codec]") {
  LevelControl control({});
  for (int i = 0; i < 1000; ++i) {
    control.add({128 << 10, 128 << 10, false, nanoseconds(0), std::chrono::milliseconds(10), nanoseconds(0)});
  }
  CHECK(control.level() == 1);
}
