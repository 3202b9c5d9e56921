// SPDX-License-Identifier: Apache-2.0
// LevelControl: which zstd level a sender uses, or none, from what the last frames cost it. The sender spends its time
// on compressing, on writing (blocked while the link does not take more) and idle (while nothing is there to send).
// Compression may use what the link leaves it and must not become what everything waits for:
//
//   - it takes most of the time           -> a lower level;
//   - the link is full, and a higher level would still leave time to spare -> one level up;
//   - the link has room and the processor is busy -> one level down, and from the lowest to raw for a trial: raw stays
//     if more passes that way, else the lowest level comes back and the next trial waits twice as long.
//
// At first the buffers on the way take everything, and any link looks free: until they may be full, or compressing has
// taken long enough to be missed, the first level stays.
//
// Pure: times come in as values, so that the same costs give the same levels.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "codec/compression.hpp"

namespace nb::codec {

// What one frame took.
struct FrameCost {
  std::uint64_t payload_bytes = 0;
  std::uint64_t wire_bytes = 0;  // as written
  bool compressed = false;
  std::chrono::nanoseconds compressing{0};
  std::chrono::nanoseconds writing{0};
  std::chrono::nanoseconds idle{0};  // before it came
};

class LevelControl {
 public:
  explicit LevelControl(Compression wish);

  // For the next frame; nothing means raw.
  [[nodiscard]] std::optional<int> level() const;
  // After each frame, also those that were raw because they would not shrink.
  void add(const FrameCost& cost);

 private:
  // Sums over a MiB or 10 ms of compressing, after which the level is judged.
  struct Window {
    std::uint64_t payload_bytes = 0;
    std::uint64_t wire_bytes = 0;
    std::uint64_t compressed_bytes = 0;  // of payload
    double compressing = 0;              // seconds
    double writing = 0;
    double idle = 0;
    [[nodiscard]] double total() const { return compressing + writing + idle; }
    [[nodiscard]] double rate() const { return static_cast<double>(payload_bytes) / total(); }
  };
  void judge(const Window& window);
  void judge_compressed(const Window& window);
  void judge_raw(const Window& window);
  [[nodiscard]] bool knows_link(const Window& window);
  void slow_down(double busy);
  void compress_again(const Window& window);
  void try_raw(double rate);

  const Compression m_wish;
  std::optional<std::size_t> m_step;  // in the ladder; nothing: raw
  Window m_window;
  double m_speed_factor = 1;        // this machine and data against the ladder's nominal speeds
  double m_rate_before_raw = 0;     // payload bytes a second at the lowest level
  unsigned m_windows_to_trial = 0;  // no trial of raw before so many windows
  unsigned m_trial_interval;
  bool m_trial = false;            // raw is being tried
  std::uint64_t m_wire_bytes = 0;  // written before the link was known
  double m_spent = 0;              // seconds of compressing before that
  unsigned m_raw_windows = 0;      // since raw was chosen
  unsigned m_raw_patience;         // as many before compression is thought of again
};

}  // namespace nb::codec
