// SPDX-License-Identifier: Apache-2.0
#include "codec/compression.hpp"

#include <sys/sysinfo.h>

#include "base/assert.hpp"

namespace nb::codec {
namespace {

// A machine with less should not spend 75 MiB on one connection.
constexpr std::uint64_t k_ample_memory_bytes = std::uint64_t{1} << 30;

constexpr std::uint64_t k_automatic = 0;
constexpr std::uint64_t k_off = 1;
constexpr int k_offset = 16;

Windows find_affordable_windows() {
  struct sysinfo machine {};
  if (::sysinfo(&machine) != 0) return Windows::ordinary;
  return std::uint64_t{machine.totalram} * machine.mem_unit > k_ample_memory_bytes ? Windows::large : Windows::ordinary;
}

}  // namespace

Windows affordable_windows() {
  static const Windows windows = find_affordable_windows();
  return windows;
}

Result<Compression> compression_of_level(int level) {
  if (level == 0) return Compression{CompressionMode::off, 0};
  if (level < k_least_level || level > k_most_level) {
    return fail(Errc::usage, std::to_string(level) + " is not a level: " + std::to_string(k_least_level) + " to " +
                                 std::to_string(k_most_level) + ", 0 for none");
  }
  return Compression{CompressionMode::fixed, level};
}

std::uint64_t encode(const Compression& compression) {
  switch (compression.mode) {
    case CompressionMode::automatic: return k_automatic;
    case CompressionMode::off: return k_off;
    case CompressionMode::fixed: break;
  }
  NB_ASSERT(compression.level >= k_least_level && compression.level <= k_most_level);
  return static_cast<std::uint64_t>(compression.level + k_offset);
}

Result<Compression> decode_compression(std::uint64_t code) {
  if (code == k_automatic) return Compression{};
  if (code == k_off) return Compression{CompressionMode::off, 0};
  if (code < k_least_level + k_offset || code > k_max_compression_code) {
    return fail(Errc::protocol, "compression: no such code");
  }
  return Compression{CompressionMode::fixed, static_cast<int>(code) - k_offset};
}

}  // namespace nb::codec
