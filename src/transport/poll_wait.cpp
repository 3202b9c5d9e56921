// SPDX-License-Identifier: Apache-2.0
#include "transport/poll_wait.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

namespace nb::transport {
namespace {

// poll(2)'s argument, rounded up so that a deadline has really passed when the wait says so.
int left_ms(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
}

}  // namespace

Deadline deadline_after(std::chrono::milliseconds limit, std::chrono::steady_clock::time_point since) {
  if (limit <= std::chrono::milliseconds::zero()) return std::nullopt;
  return since + limit;
}

Result<Wake> wait_for(int fd, short events, int wake_fd, Deadline deadline) {
  while (true) {
    std::array<pollfd, 2> fds{pollfd{fd, events, 0}, pollfd{wake_fd, POLLIN, 0}};
    const int count = ::poll(fds.data(), fds.size(), left_ms(deadline));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno("poll");
    if (fds[1].revents != 0) return Wake::interrupted;
    if (fds[0].revents != 0) return Wake::ready;
    return Wake::timed_out;
  }
}

Result<int> set_nonblocking(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0) return fail_errno("fcntl");
  if (::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return fail_errno("fcntl");
  return flags;
}

Result<Fd> make_event_fd() {
  Fd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return fail_errno("eventfd");
  return fd;
}

void signal_event_fd(int fd) {
  const std::uint64_t one = 1;
  ssize_t n = 0;
  do {
    n = ::write(fd, &one, sizeof one);
  } while (n < 0 && errno == EINTR);
}

}  // namespace nb::transport
