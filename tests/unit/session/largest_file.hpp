// SPDX-License-Identifier: Apache-2.0
// LargestFile: as long as it lives no file of this process grows beyond a size, and whoever tries gets EFBIG, as on a
// file system whose files have a largest size.
#pragma once

#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <csignal>

namespace nb::test {

class LargestFile {
 public:
  explicit LargestFile(rlim_t bytes) : m_handler(std::signal(SIGXFSZ, SIG_IGN)) {
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &m_before) == 0);
    const rlimit limit{bytes, m_before.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  }
  ~LargestFile() {
    static_cast<void>(::setrlimit(RLIMIT_FSIZE, &m_before));
    static_cast<void>(std::signal(SIGXFSZ, m_handler));
  }
  LargestFile(const LargestFile&) = delete;
  LargestFile& operator=(const LargestFile&) = delete;

 private:
  void (*m_handler)(int);
  rlimit m_before{};
};

}  // namespace nb::test
