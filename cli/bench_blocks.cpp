// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_blocks.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "cli/process_cpu.hpp"

namespace nb::cli {
namespace {

constexpr std::byte k_taken{'.'};
constexpr std::uint64_t k_least_window = 2;  // blocks
constexpr std::uint64_t k_most_window = 64;
constexpr double k_window_seconds = 0.25;

// Times and processor use since a moment.
class Meter {
 public:
  explicit Meter(const Clock& clock) : m_clock(clock), m_sshd(serving_sshd()) { start(); }

  void start() {
    m_begin = m_clock.steady();
    m_cpu = used();
    m_sshd_cpu = sshd_used();
  }

  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(m_clock.steady() - m_begin).count(); }

  [[nodiscard]] Flow stop(std::uint64_t bytes) const {
    Flow flow{bytes, seconds(), used() - m_cpu, std::nullopt};
    const auto sshd = sshd_used();
    if (sshd && m_sshd_cpu) flow.sshd_cpu_seconds = *sshd - *m_sshd_cpu;
    return flow;
  }

 private:
  static double used() { return own_cpu_seconds() + children_cpu_seconds(); }
  [[nodiscard]] std::optional<double> sshd_used() const {
    const auto stat = m_sshd ? process_stat(*m_sshd) : std::nullopt;
    return stat ? std::optional(stat->cpu_seconds) : std::nullopt;
  }

  const Clock& m_clock;
  std::optional<pid_t> m_sshd;
  SteadyTime m_begin;
  double m_cpu = 0;
  std::optional<double> m_sshd_cpu;
};

class Sender {
 public:
  Sender(BenchChannel& channel, const Clock& clock)
      : m_channel(channel), m_clock(clock), m_meter(clock), m_block(random_block()), m_began(clock.steady()) {}

  Status send(BlockKind kind) {
    m_block.front() = static_cast<std::byte>(kind);
    if (kind == BlockKind::begin) m_meter.start();
    if (kind == BlockKind::begin) m_counted_from = m_sent;
    NB_TRY(m_channel.write(m_block));
    ++m_sent;
    return wait_for_room(kind == BlockKind::last ? 0 : window() - 1);
  }

  [[nodiscard]] double seconds() const { return m_meter.seconds(); }
  [[nodiscard]] Flow finish() const { return m_meter.stop((m_sent - m_counted_from) * k_bench_block_bytes); }

 private:
  [[nodiscard]] std::uint64_t window() const {
    const double elapsed = std::chrono::duration<double>(m_clock.steady() - m_began).count();
    const double rate = static_cast<double>(m_taken) / std::max(elapsed, 0.001);
    return std::clamp(static_cast<std::uint64_t>(rate * k_window_seconds), k_least_window, k_most_window);
  }

  Status wait_for_room(std::uint64_t most_under_way) {
    while (m_sent - m_taken > most_under_way) {
      // No more than what is awaited: what follows the last answer is another message.
      std::array<std::byte, k_most_window> buffer{};
      const auto awaited = std::min<std::uint64_t>(m_sent - m_taken, buffer.size());
      NB_TRY_ASSIGN(const std::size_t count, m_channel.read_some(std::span(buffer).first(awaited)));
      const auto is_answer = [](std::byte b) { return b == k_taken; };
      if (!std::all_of(buffer.begin(), buffer.begin() + count, is_answer)) {
        return fail(Errc::protocol, "bench: the other end answers no block");
      }
      m_taken += count;
    }
    return {};
  }

  BenchChannel& m_channel;
  const Clock& m_clock;
  Meter m_meter;
  Bytes m_block;
  SteadyTime m_began;
  std::uint64_t m_sent = 0;   // blocks
  std::uint64_t m_taken = 0;  // of them answered
  std::uint64_t m_counted_from = 0;
};

Status fill_until(BenchChannel& channel, std::span<std::byte> out, SteadyTime until, const Clock& clock) {
  while (!out.empty()) {
    if (clock.steady() > until) return fail(Errc::timeout, "bench: the transfer does not end");
    NB_TRY_ASSIGN(const std::size_t count, channel.read_some(out));
    out = out.subspan(count);
  }
  return {};
}

double seconds_of(std::chrono::milliseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

Bytes random_block() {
  std::mt19937_64 generator(1);
  Bytes block;
  ByteWriter writer(block);
  for (std::size_t i = 0; i < k_bench_block_bytes / 8; ++i) writer.u64(generator());
  return block;
}

Result<Flow> send_blocks(BenchChannel& channel, const FlowTimes& times, const Clock& clock) {
  Sender sender(channel, clock);
  do {
    NB_TRY(sender.send(BlockKind::plain));
  } while (sender.seconds() < seconds_of(times.warm_up));
  NB_TRY(sender.send(BlockKind::begin));
  while (sender.seconds() < seconds_of(times.counted)) NB_TRY(sender.send(BlockKind::plain));
  NB_TRY(sender.send(BlockKind::last));
  return sender.finish();
}

Result<Flow> receive_blocks(BenchChannel& channel, std::chrono::milliseconds limit, const Clock& clock) {
  Bytes block(k_bench_block_bytes);
  const SteadyTime until = clock.steady() + limit + k_bench_rest;
  Meter meter(clock);
  std::uint64_t bytes = 0;
  while (true) {
    NB_TRY(fill_until(channel, block, until, clock));
    const auto kind = static_cast<BlockKind>(block.front());
    if (kind > BlockKind::last) return fail(Errc::protocol, "bench: a block of no known kind");
    if (kind == BlockKind::begin) {
      meter.start();
      bytes = 0;  // this one arrived before its time began
    } else {
      bytes += block.size();
    }
    NB_TRY(channel.write(ByteView(&k_taken, 1)));
    if (kind == BlockKind::last) return meter.stop(bytes);
  }
}

}  // namespace nb::cli
