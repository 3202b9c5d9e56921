// SPDX-License-Identifier: Apache-2.0
#include "base/cpu.hpp"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace nb {

std::uint64_t cpu_flags() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") ? std::uint64_t{k_cpu_aes} : 0;
#elif defined(__aarch64__)
  return (::getauxval(AT_HWCAP) & HWCAP_AES) != 0 ? std::uint64_t{k_cpu_aes} : 0;
#else
  return 0;
#endif
}

}  // namespace nb
