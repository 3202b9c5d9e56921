// SPDX-License-Identifier: Apache-2.0
// NB_ASSERT stays on in release builds and is for our own bugs only. What a peer, a disk or a user supplies never
// asserts: it is an Error.
#pragma once

namespace nb {
[[noreturn]] void assertion_failed(const char* expression, const char* file, int line);
}

#define NB_ASSERT(expression) \
  (static_cast<bool>(expression) ? static_cast<void>(0) : ::nb::assertion_failed(#expression, __FILE__, __LINE__))
