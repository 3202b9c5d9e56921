// SPDX-License-Identifier: Apache-2.0
// What the figures mean, in words: what a push waits for, what would change that, and by how much. Pure.
#pragma once

#include "cli/bench_result.hpp"

namespace nb::cli {

// One thing that every byte of a push passes.
struct Leg {
  std::string name;  // "SSH", "the destination's disk"
  double rate = 0;   // MB/s
};

// Those that were measured, in the order in which a byte passes them.
std::vector<Leg> push_legs(const BenchResult& result);

// Sentences, the most important first; at least one.
std::vector<std::string> verdict(const BenchResult& result);

// The measured encrypted pairs, fastest first, as the lists for --ciphers and --macs: a cipher comes where its fastest
// MAC puts it, a MAC where its fastest cipher does. Unset where nothing was measured.
ssh::AlgorithmLists fastest_order(const BenchResult& result);

}  // namespace nb::cli
