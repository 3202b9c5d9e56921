// SPDX-License-Identifier: Apache-2.0
// What every fuzz target shares: the entry point's declaration and a check that stops the program, as libFuzzer wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

#include "base/bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace nb::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: broken: %s\n", what);
  std::abort();
}

inline ByteView view(const std::uint8_t* data, std::size_t size) { return std::as_bytes(std::span(data, size)); }

}  // namespace nb::fuzz
