// SPDX-License-Identifier: Apache-2.0
#include "base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace nb {

void assertion_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "nbackup: internal error: %s (%s:%d); please report it\n", expression, file, line);
  std::abort();
}

}  // namespace nb
