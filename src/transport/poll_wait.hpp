// SPDX-License-Identifier: Apache-2.0
// Waiting for a descriptor, with a deadline and a second descriptor that interrupts the wait. Shared by the streams
// over descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace nb::transport {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

// `limit` after `since`; no deadline for zero.
Deadline deadline_after(std::chrono::milliseconds limit,
                        std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now());

enum class Wake : std::uint8_t { ready, interrupted, timed_out };

// Waits until `fd` has one of `events` (or an error or hang-up, which is ready too), `wake_fd` is readable, or the
// deadline passes. An interruption wins over readiness. `wake_fd` may be -1. EINTR is retried.
Result<Wake> wait_for(int fd, short events, int wake_fd, Deadline deadline);

// Sets O_NONBLOCK and returns the flags as they were.
Result<int> set_nonblocking(int fd);

// An eventfd, close-on-exec and non-blocking.
Result<Fd> make_event_fd();
// Makes it readable. Cannot fail for an eventfd that is not at its maximum.
void signal_event_fd(int fd);

}  // namespace nb::transport
