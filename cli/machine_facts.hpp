// SPDX-License-Identifier: Apache-2.0
// What a machine is and what it gives this process: for bench and doctor, of either end.
#pragma once

#include <sys/types.h>

#include "base/clock.hpp"
#include "cli/bench_protocol.hpp"

namespace nb::cli {

struct MachineFacts {
  std::string version;  // of nbackup
  std::uint64_t protocol_min = 0;
  std::uint64_t protocol_max = 0;
  std::string kernel;        // "Linux 6.1.0-13-amd64"
  std::string architecture;  // "x86_64"
  std::string cpu_model;     // "" where /proc/cpuinfo has none
  std::uint64_t cores = 0;
  bool has_aes = false;
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::uint64_t open_files = 0;    // soft limit
  std::uint64_t pipe_bytes = 0;    // of standard input; 0: no pipe (a socket, say)
  std::uint64_t wall_seconds = 0;  // since 1970, by its clock
  std::string ssh_server;  // the process that serves this one: "sshd"; "" where there is none or it cannot be seen
};

// `input`: the descriptor whose pipe is asked about; -1: none.
MachineFacts facts_of_this_machine(int input, const Clock& clock);

BenchFields fields_of(const MachineFacts& facts);
// Errc::protocol for a missing or malformed number.
Result<MachineFacts> machine_facts_in(const BenchFields& fields);

// "model name" of the first processor in /proc/cpuinfo; on machines that have none there, "Model" or "Hardware".
std::string cpu_model_in(std::string_view cpuinfo);
// A value in KiB out of /proc/meminfo, in bytes; 0 where it is missing.
std::uint64_t memory_in(std::string_view meminfo, std::string_view key);

}  // namespace nb::cli
