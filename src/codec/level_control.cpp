// SPDX-License-Identifier: Apache-2.0
#include "codec/level_control.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace nb::codec {
namespace {

struct Step {
  int level;
  double bytes_per_second;  // roughly, one core; only the ratios matter, see m_speed_factor
};

constexpr std::array k_ladder{Step{-5, 700e6}, Step{-1, 550e6}, Step{1, 430e6}, Step{3, 250e6},
                              Step{6, 110e6},  Step{9, 60e6},   Step{12, 30e6}};
constexpr std::size_t k_first_step = 2;  // little slower than the lowest, and nearly the ratio of level 3

constexpr std::uint64_t k_window_bytes = std::uint64_t{1} << 20;
constexpr double k_window_compressing = 0.01;  // seconds: a slow processor is noticed before a MiB is through
// A pause (the other side commits) says nothing about the flow.
constexpr std::chrono::nanoseconds k_longest_idle = std::chrono::milliseconds(100);

// What socket buffers and SSH's windows may take before a slow link is felt, and what finding out may cost.
constexpr std::uint64_t k_buffered_bytes = std::uint64_t{8} << 20;
constexpr double k_finding_out = 0.05;  // seconds

constexpr double k_binding = 0.8;      // compressing takes this share of the time: everything waits for it
constexpr double k_comfortable = 0.6;  // what a level may be expected to take
constexpr double k_link_full = 0.25;   // share of the time spent in write()
constexpr double k_link_free = 0.1;
constexpr double k_costly = 0.15;   // with a link that is free: what compressing takes may be missed elsewhere
constexpr double k_gain = 1.03;     // what raw must bring to stay
constexpr double k_usual_gain = 3;  // by how much more passes a full link when it is compressed
constexpr unsigned k_first_interval = 16;
constexpr unsigned k_longest_interval = 1024;
constexpr unsigned k_first_patience = 2;
constexpr unsigned k_longest_patience = 128;

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

double speed(std::size_t step) { return k_ladder[step].bytes_per_second; }

}  // namespace

LevelControl::LevelControl(Compression wish)
    : m_wish(wish), m_step(k_first_step), m_trial_interval(k_first_interval), m_raw_patience(k_first_patience) {}

std::optional<int> LevelControl::level() const {
  switch (m_wish.mode) {
    case CompressionMode::off: return std::nullopt;
    case CompressionMode::fixed: return m_wish.level;
    case CompressionMode::automatic: break;
  }
  return m_step ? std::optional<int>(k_ladder[*m_step].level) : std::nullopt;
}

void LevelControl::add(const FrameCost& cost) {
  if (m_wish.mode != CompressionMode::automatic) return;
  m_window.payload_bytes += cost.payload_bytes;
  m_window.wire_bytes += cost.wire_bytes;
  if (cost.compressed) m_window.compressed_bytes += cost.payload_bytes;
  m_window.compressing += seconds(cost.compressing);
  m_window.writing += seconds(cost.writing);
  m_window.idle += seconds(std::min(cost.idle, k_longest_idle));
  if (m_window.payload_bytes < k_window_bytes && m_window.compressing < k_window_compressing) return;
  const Window window = std::exchange(m_window, {});
  if (window.total() > 0) judge(window);
}

void LevelControl::judge(const Window& window) {
  if (m_windows_to_trial > 0) --m_windows_to_trial;
  if (!m_step) return judge_raw(window);
  // Mostly data that passed raw by itself: it says nothing about the level.
  if (window.compressed_bytes >= window.payload_bytes / 2) judge_compressed(window);
}

bool LevelControl::knows_link(const Window& window) {
  m_wire_bytes += window.wire_bytes;
  m_spent += window.compressing;
  const bool is_felt = window.writing / window.total() >= k_link_full;
  if (is_felt) m_wire_bytes = k_buffered_bytes;
  return m_wire_bytes >= k_buffered_bytes || m_spent >= k_finding_out;
}

void LevelControl::judge_compressed(const Window& window) {
  const double busy = window.compressing / window.total();
  if (window.compressing > 0) {
    const double measured = static_cast<double>(window.compressed_bytes) / window.compressing;
    m_speed_factor = (m_speed_factor + measured / speed(*m_step)) / 2;
  }
  if (!knows_link(window)) return;
  const double link = window.writing / window.total();
  if (busy > k_binding || (link < k_link_free && busy > k_costly)) {
    if (*m_step == 0) return try_raw(window.rate());
    return slow_down(busy);
  }
  const std::size_t next = *m_step + 1;
  if (next == k_ladder.size() || link < k_link_full) return;
  if (busy * speed(*m_step) / speed(next) <= k_comfortable) m_step = next;
}

// At least one step, and as many as it takes; never to raw at once, which is a matter of trial.
void LevelControl::slow_down(double busy) {
  const double had = speed(*m_step);
  do {
    m_step = *m_step - 1;
  } while (*m_step > 0 && busy * had / speed(*m_step) > k_comfortable);
}

void LevelControl::try_raw(double rate) {
  if (m_windows_to_trial > 0) return;
  m_rate_before_raw = rate;
  m_trial = true;
  m_step.reset();
}

void LevelControl::judge_raw(const Window& window) {
  if (m_trial) {
    m_trial = false;
    m_raw_windows = 0;
    if (window.rate() > m_rate_before_raw * k_gain) {
      m_trial_interval = k_first_interval;
      return;
    }
    m_windows_to_trial = m_trial_interval;
    m_trial_interval = std::min(2 * m_trial_interval, k_longest_interval);
    m_step = 0;
    return;
  }
  if (++m_raw_windows >= m_raw_patience) compress_again(window);
}

// On a link that has become slow, or from a source that has: the lowest level would have time to spare now. On a full
// link the level is one that leaves time even if much more passes.
void LevelControl::compress_again(const Window& window) {
  const bool is_full = window.writing / window.total() > k_link_full;
  const double bearable = m_speed_factor * (is_full ? k_comfortable : k_costly);
  if (window.rate() >= speed(0) * bearable) return;
  m_raw_patience = std::min(2 * m_raw_patience, k_longest_patience);
  m_step = 0;
  while (is_full && *m_step < k_first_step && window.rate() * k_usual_gain < speed(*m_step + 1) * bearable) {
    m_step = *m_step + 1;
  }
}

}  // namespace nb::codec
