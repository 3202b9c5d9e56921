// SPDX-License-Identifier: Apache-2.0
#include "base/fd.hpp"

#include <unistd.h>

#include <cerrno>

namespace nb {

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    m_fd = other.release();
  }
  return *this;
}

void Fd::reset() {
  if (m_fd >= 0) ::close(std::exchange(m_fd, -1));
}

Result<std::size_t> read_full(int fd, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n = ::read(fd, out.data() + done, out.size() - done);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail_errno("read");
    }
    done += static_cast<std::size_t>(n);
  }
  return done;
}

Status write_full(int fd, std::span<const std::byte> data) {
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      return fail_errno("write");
    }
    data = data.subspan(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace nb
