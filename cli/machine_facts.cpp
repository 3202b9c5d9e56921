// SPDX-License-Identifier: Apache-2.0
#include "cli/machine_facts.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cpu.hpp"
#include "base/fd.hpp"
#include "base/text.hpp"
#include "base/version.hpp"
#include "cli/process_cpu.hpp"
#include "wire/limits.hpp"

namespace nb::cli {
namespace {

constexpr std::size_t k_most_proc_bytes = 64 << 10;  // the first processors tell it all

std::string read_proc(const char* path) { return read_file_prefix(path, k_most_proc_bytes).value_or(""); }

// The value of the first "key : value" line.
std::string_view value_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos && trim(line.substr(0, colon)) == key) return trim(line.substr(colon + 1));
  }
  return {};
}

std::uint64_t soft_limit_of_open_files() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::uint64_t{limit.rlim_cur} : 0;
}

std::uint64_t pipe_bytes(int fd) {
  const int size = fd < 0 ? -1 : ::fcntl(fd, F_GETPIPE_SZ);
  return size < 0 ? 0 : static_cast<std::uint64_t>(size);
}

std::string name_of_ssh_server() {
  const auto pid = serving_sshd();
  const auto stat = pid ? process_stat(*pid) : std::nullopt;
  return stat ? escape(stat->name) : std::string();
}

void add_system(MachineFacts& facts) {
  utsname system{};
  if (::uname(&system) != 0) return;
  facts.kernel = std::string(system.sysname) + " " + system.release;
  facts.architecture = system.machine;
}

Result<std::uint64_t> count_in(const BenchFields& fields, std::string_view key) {
  const auto number = parse_u64(text_in(fields, key));
  if (!number) return fail(Errc::protocol, "bench: no number for " + std::string(key));
  return *number;
}

}  // namespace

std::string cpu_model_in(std::string_view cpuinfo) {
  for (const char* key : {"model name", "Model", "Hardware", "cpu model"}) {
    const std::string_view value = value_of(cpuinfo, key);
    if (!value.empty()) return std::string(value);
  }
  return {};
}

std::uint64_t memory_in(std::string_view meminfo, std::string_view key) {
  const std::string_view value = value_of(meminfo, key);
  return parse_u64(value.substr(0, value.find(' '))).value_or(0) * 1024;
}

MachineFacts facts_of_this_machine(int input, const Clock& clock) {
  MachineFacts facts;
  facts.version = k_version;
  facts.protocol_min = wire::k_version_min;
  facts.protocol_max = wire::k_version_max;
  add_system(facts);
  facts.cpu_model = cpu_model_in(read_proc("/proc/cpuinfo"));
  const long cores = ::sysconf(_SC_NPROCESSORS_ONLN);
  facts.cores = cores > 0 ? static_cast<std::uint64_t>(cores) : 0;
  facts.has_aes = (cpu_flags() & k_cpu_aes) != 0;
  const std::string memory = read_proc("/proc/meminfo");
  facts.memory_bytes = memory_in(memory, "MemTotal");
  facts.available_bytes = memory_in(memory, "MemAvailable");
  facts.open_files = soft_limit_of_open_files();
  facts.pipe_bytes = pipe_bytes(input);
  const auto since_1970 = std::chrono::floor<std::chrono::seconds>(clock.wall().time_since_epoch()).count();
  facts.wall_seconds = since_1970 > 0 ? static_cast<std::uint64_t>(since_1970) : 0;
  facts.ssh_server = name_of_ssh_server();
  return facts;
}

BenchFields fields_of(const MachineFacts& facts) {
  return {{"version", escape(facts.version)},
          {"protocol_min", std::to_string(facts.protocol_min)},
          {"protocol_max", std::to_string(facts.protocol_max)},
          {"kernel", escape(facts.kernel)},
          {"architecture", escape(facts.architecture)},
          {"cpu_model", escape(facts.cpu_model)},
          {"cores", std::to_string(facts.cores)},
          {"aes", facts.has_aes ? "1" : "0"},
          {"memory_bytes", std::to_string(facts.memory_bytes)},
          {"available_bytes", std::to_string(facts.available_bytes)},
          {"open_files", std::to_string(facts.open_files)},
          {"pipe_bytes", std::to_string(facts.pipe_bytes)},
          {"wall_seconds", std::to_string(facts.wall_seconds)},
          {"ssh_server", escape(facts.ssh_server)}};
}

Result<MachineFacts> machine_facts_in(const BenchFields& fields) {
  MachineFacts facts;
  facts.version = text_in(fields, "version");
  NB_TRY_ASSIGN(facts.protocol_min, count_in(fields, "protocol_min"));
  NB_TRY_ASSIGN(facts.protocol_max, count_in(fields, "protocol_max"));
  facts.kernel = text_in(fields, "kernel");
  facts.architecture = text_in(fields, "architecture");
  facts.cpu_model = text_in(fields, "cpu_model");
  NB_TRY_ASSIGN(facts.cores, count_in(fields, "cores"));
  facts.has_aes = text_in(fields, "aes") == "1";
  NB_TRY_ASSIGN(facts.memory_bytes, count_in(fields, "memory_bytes"));
  NB_TRY_ASSIGN(facts.available_bytes, count_in(fields, "available_bytes"));
  NB_TRY_ASSIGN(facts.open_files, count_in(fields, "open_files"));
  NB_TRY_ASSIGN(facts.pipe_bytes, count_in(fields, "pipe_bytes"));
  NB_TRY_ASSIGN(facts.wall_seconds, count_in(fields, "wall_seconds"));
  facts.ssh_server = text_in(fields, "ssh_server");
  return facts;
}

}  // namespace nb::cli
