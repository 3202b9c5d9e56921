// SPDX-License-Identifier: Apache-2.0
#include "base/random.hpp"

#include <sys/random.h>

#include <cerrno>

namespace nb {

Status random_bytes(std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t n = ::getrandom(out.data(), out.size(), 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail_errno("getrandom");
    }
    out = out.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace nb
