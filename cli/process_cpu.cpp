// SPDX-License-Identifier: Apache-2.0
#include "cli/process_cpu.hpp"

#include <dirent.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <memory>

#include "base/fd.hpp"
#include "base/text.hpp"

namespace nb::cli {
namespace {

// After the name in its parentheses; proc(5) counts fields from 1, the state being the third.
constexpr std::size_t k_field_parent = 4 - 3;
constexpr std::size_t k_field_user_time = 14 - 3;
constexpr std::size_t k_field_system_time = 15 - 3;
constexpr int k_max_ancestors = 32;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool is_ssh_server(std::string_view name) { return name.starts_with("sshd") || name.starts_with("dropbear"); }

}  // namespace

std::optional<ProcessStat> parse_process_stat(std::string_view text, long ticks_per_second) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  if (close + 2 > text.size()) return std::nullopt;
  const auto fields = split(text.substr(close + 2), ' ');
  if (fields.size() <= k_field_system_time) return std::nullopt;
  const auto parent = parse_u64(fields[k_field_parent]);
  const auto user = parse_u64(fields[k_field_user_time]);
  const auto system = parse_u64(fields[k_field_system_time]);
  if (!parent || !user || !system || ticks_per_second <= 0) return std::nullopt;
  return ProcessStat{std::string(text.substr(open + 1, close - open - 1)), static_cast<pid_t>(*parent),
                     static_cast<double>(*user + *system) / static_cast<double>(ticks_per_second)};
}

std::optional<ProcessStat> process_stat(pid_t pid) {
  const auto text = read_file_prefix("/proc/" + std::to_string(pid) + "/stat", 2048);
  return text ? parse_process_stat(*text, ::sysconf(_SC_CLK_TCK)) : std::nullopt;
}

double own_cpu_seconds() {
  timespec spent{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent) != 0) return 0;
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

double children_cpu_seconds() {
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir("/proc"));
  if (!directory) return 0;
  double seconds = 0;
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto pid = parse_u64(entry->d_name);
    if (!pid) continue;
    const auto stat = process_stat(static_cast<pid_t>(*pid));
    if (stat && stat->parent == ::getpid()) seconds += stat->cpu_seconds;
  }
  return seconds;
}

std::optional<pid_t> serving_sshd() {
  pid_t pid = ::getppid();
  for (int i = 0; i < k_max_ancestors && pid > 1; ++i) {
    const auto stat = process_stat(pid);
    if (!stat) return std::nullopt;
    if (is_ssh_server(stat->name)) return pid;
    pid = stat->parent;
  }
  return std::nullopt;
}

}  // namespace nb::cli
