// SPDX-License-Identifier: Apache-2.0
// What this machine's processor can do, as far as both ends tell each other (Hello::cpu_flags) to choose by.
#pragma once

#include <cstdint>

namespace nb {

// On the wire and in the client's memory: never renumber.
enum CpuFlag : std::uint64_t {
  k_cpu_aes = 1 << 0,  // AES instructions
};

// The CpuFlag bits of this machine.
std::uint64_t cpu_flags();

}  // namespace nb
