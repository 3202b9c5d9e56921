// SPDX-License-Identifier: Apache-2.0
// Starting a program with given standard descriptors and the signal dispositions that process_stream.hpp explains;
// ending and reaping it. Internal to transport, but for Child, by which cli/child_program waits.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "transport/byte_stream.hpp"

namespace nb::transport {

// A child process, reaped by exactly one object.
class Child {
 public:
  explicit Child(pid_t pid);
  ~Child() = default;
  Child(Child&&) = default;
  Child& operator=(Child&&) = default;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Waits up to `limit` (zero: only looks) and reaps it; true once it has ended.
  bool wait(std::chrono::milliseconds limit);
  // Sends a signal unless it has been reaped.
  void signal(int number) const;
  [[nodiscard]] pid_t pid() const { return m_pid; }
  // How it ended; empty before wait() has said true. stderr_tail is left to the caller.
  [[nodiscard]] PeerEnd end() const;

 private:
  bool try_reap();

  pid_t m_pid;
  Fd m_pidfd;  // invalid where the kernel has none: wait() then looks every few milliseconds
  std::optional<int> m_status;
};

// Runs argv[0] (looked up in PATH) with these as descriptors 0, 1 and 2; the child inherits no others of ours, which
// are all close-on-exec. Where exec fails, so does this, with its errno.
Result<Child> spawn(const std::vector<std::string>& argv, int stdin_fd, int stdout_fd, int stderr_fd);

}  // namespace nb::transport
