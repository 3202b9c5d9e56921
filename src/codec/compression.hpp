// SPDX-License-Identifier: Apache-2.0
// Compression: what a user may ask for, as a value that travels from the command line to both ends. What comes of it
// frame by frame is LevelControl's and Trial's to say.
#pragma once

#include <cstdint>

#include "base/result.hpp"

namespace nb::codec {

inline constexpr int k_least_level = -7;
inline constexpr int k_most_level = 19;  // its window still fits k_window_log; those above take hundreds of MiB
// The largest windows that a sender uses and a receiver accepts: what a connection costs the receiver. 8 MiB, or 32 MiB
// between machines that both have the memory for it. `small`, 128 KiB, is a sender's choice for what is short.
enum class Windows : std::uint8_t { small, ordinary, large };
inline constexpr int k_small_window_log = 17;
inline constexpr int k_window_log = 23;
inline constexpr int k_large_window_log = 25;
// What this machine accepts and may use: the same answer as long as the process lives.
Windows affordable_windows();

enum class CompressionMode : std::uint8_t {
  automatic,  // the level follows what binds, link or processor
  off,
  fixed,
};

struct Compression {
  CompressionMode mode = CompressionMode::automatic;
  int level = 0;  // of `fixed`: k_least_level to k_most_level

  friend bool operator==(const Compression&, const Compression&) = default;
};

// A level as users write it, 0 meaning none; Errc::usage outside the limits.
Result<Compression> compression_of_level(int level);

// As one number, for the wire: 0 automatic, 1 off, 9 to 35 a fixed level plus 16. Never renumber.
inline constexpr std::uint64_t k_max_compression_code = k_most_level + 16;
std::uint64_t encode(const Compression& compression);
// Errc::protocol for any other number.
Result<Compression> decode_compression(std::uint64_t code);

}  // namespace nb::codec
