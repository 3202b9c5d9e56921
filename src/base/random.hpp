// SPDX-License-Identifier: Apache-2.0
// Unpredictable bytes from the kernel, for identifiers and secrets.
#pragma once

#include <span>

#include "base/result.hpp"

namespace nb {

// Fills `out` from getrandom(2).
Status random_bytes(std::span<std::byte> out);

}  // namespace nb
