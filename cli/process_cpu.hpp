// SPDX-License-Identifier: Apache-2.0
// Processor time that processes have used, in seconds, from the kernel: this one, others by /proc/PID/stat (proc(5)),
// where clock ticks (10 ms) are all there is.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

namespace nb::cli {

struct ProcessStat {
  std::string name;  // at most 15 bytes
  pid_t parent = 0;
  double cpu_seconds = 0;
};

// `text` is the content of /proc/PID/stat; nothing where it is not of that form. The name may hold anything.
std::optional<ProcessStat> parse_process_stat(std::string_view text, long ticks_per_second);

// Of a running process; nothing where there is none or /proc hides it.
std::optional<ProcessStat> process_stat(pid_t pid);

// All threads of this process.
double own_cpu_seconds();

// The children of this process that are running.
double children_cpu_seconds();

// The nearest ancestor of this process that is an SSH server's, by its name. It is the one that encrypts: the monitor
// above it, where there is one, sleeps.
std::optional<pid_t> serving_sshd();

}  // namespace nb::cli
