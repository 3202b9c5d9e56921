// SPDX-License-Identifier: Apache-2.0
// The payload of bench: random bytes from memory in blocks of a fixed size, the first byte of each saying what it is.
// The receiver answers every block with one byte, so that the sender never has more under way than a quarter of a
// second's worth (512 KiB at least, 16 MiB at most): a slow link then does not spend the next seconds on draining
// buffers. What is counted lies between the block that says `begin` and the last one, and is counted where it arrives.
#pragma once

#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "cli/bench_protocol.hpp"

namespace nb::cli {

inline constexpr std::size_t k_bench_block_bytes = std::size_t{256} << 10;

// What a transfer may take beyond its times: three blocks are sent however slow the link is.
inline constexpr std::chrono::minutes k_bench_rest{5};

enum class BlockKind : std::uint8_t { plain = 0, begin = 1, last = 2 };

// What one side saw of one transfer.
struct Flow {
  std::uint64_t bytes = 0;
  double seconds = 0;
  double cpu_seconds = 0;                  // of this process and the programs it started
  std::optional<double> sshd_cpu_seconds;  // of the server's process that serves this one; unset: not known
};

// What no compression shortens: one block to fill a link with, by a generator with a fixed seed.
Bytes random_block();

struct FlowTimes {
  std::chrono::milliseconds warm_up{0};  // not counted
  std::chrono::milliseconds counted{0};
};

// Sends until the times are over, at least one block of each kind.
Result<Flow> send_blocks(BenchChannel& channel, const FlowTimes& times, const Clock& clock);
// Receives up to the last block. Errc::protocol for a block of no known kind, timeout where the last one has not come
// `limit` and k_bench_rest after the call.
Result<Flow> receive_blocks(BenchChannel& channel, std::chrono::milliseconds limit, const Clock& clock);

}  // namespace nb::cli
