// SPDX-License-Identifier: Apache-2.0
#include "cli/doctor_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/cpu.hpp"
#include "base/text.hpp"
#include "cli/hints.hpp"
#include "cli/quantities.hpp"

namespace nb::cli {
namespace {

using enum CheckLevel;
using Checks = std::vector<Check>;

constexpr std::uint64_t k_few_open_files = 1024;
constexpr std::uint64_t k_small_pipe_bytes = 1 << 20;
constexpr std::uint64_t k_little_memory_bytes = 128 << 20;
constexpr double k_clock_apart_seconds = 5;
constexpr std::uint64_t k_little_space_bytes = std::uint64_t{1} << 30;
constexpr std::uint64_t k_no_space_bytes = 16 << 20;
constexpr std::uint64_t k_few_inodes = 10'000;

// ---- the connection ----------------------------------------------------------------------------------------------

// The steps of a connection, in order.
enum class Step : std::uint8_t { reach, algorithms, host_key, login, nbackup, unknown };

struct StepName {
  Step step;
  const char* name;
};
constexpr std::array k_steps{StepName{Step::reach, "reach"},       StepName{Step::algorithms, "algorithms"},
                             StepName{Step::host_key, "host key"}, StepName{Step::login, "login"},
                             StepName{Step::nbackup, "nbackup"},   StepName{Step::unknown, "connection"}};

// Where it failed, as far as the error or what libssh saw before it tells.
Step step_of(Errc code, bool logged_in) {
  if (logged_in || code == Errc::remote_missing) return Step::nbackup;
  switch (code) {
    case Errc::connect:
    case Errc::connect_timeout: return Step::reach;
    case Errc::unsupported: return Step::algorithms;
    case Errc::host_key: return Step::host_key;
    case Errc::auth: return Step::login;
    default: return Step::unknown;
  }
}

// What is known to be in order: by the server's answer, libssh's login, a later step that was refused, or all of it.
bool was_seen(Step step, Step failed, const DoctorFindings& found) {
  if (!found.failure || found.negotiated) return true;
  const bool refused_later = failed != Step::nbackup && failed != Step::unknown && step < failed;
  return refused_later || (step == Step::reach && !found.server_version.empty() && failed != Step::reach);
}

Check reach(const DoctorFindings& found) {
  if (found.server_version.empty()) return {"reach", ok, "it answers", ""};
  return {"reach", ok,
          fmt::format("{}, connected in {:.1f} ms", found.server_version, found.tcp_connect_seconds * 1000), ""};
}

Check login(const DoctorFindings& found) {
  if (found.failure) return {"login", ok, "accepted", ""};
  const std::string text = fmt::format("in {:.0f} ms", found.connect_seconds * 1000);
  if (found.fallback.empty()) return {"login", ok, text, ""};
  return {"login", hint, text + ", by the ssh program: " + found.fallback,
          "Each run tries libssh first; -e ssh saves the try."};
}

void check_connection(const DoctorFindings& found, Checks& checks) {
  const Step failed = found.failure ? step_of(found.failure->code, found.negotiated.has_value()) : Step::unknown;
  for (const StepName& row : k_steps) {
    if (found.failure && row.step == failed) {
      checks.push_back({row.name, problem, found.failure->message(), std::string(hint_for(*found.failure))});
      return;
    }
    if (!was_seen(row.step, failed, found)) continue;
    if (row.step == Step::reach) checks.push_back(reach(found));
    if (row.step == Step::host_key) {
      checks.push_back({row.name, ok, found.negotiated ? found.negotiated->host_key_type : "accepted", ""});
    }
    if (row.step == Step::login) checks.push_back(login(found));
  }
}

// ---- algorithms --------------------------------------------------------------------------------------------------

// The first of `wanted` that both ends have.
std::string best_of(const std::vector<std::string>& wanted, const std::vector<std::string>& ours,
                    const std::vector<std::string>& theirs) {
  const auto both = ssh::only_known(ssh::only_known(wanted, ours), theirs);
  return both.empty() ? std::string() : both.front();
}

void check_algorithms(const DoctorFindings& found, Checks& checks) {
  if (!found.negotiated) {
    checks.push_back({"algorithms", ok, "a program made the connection that does not tell: " + found.carrier, ""});
    return;
  }
  Check check{"algorithms", ok, ssh::describe(*found.negotiated), ""};
  if (found.offered && found.ours && found.there) {
    const ssh::CpuPair cpus{found.here.has_aes ? std::uint64_t{k_cpu_aes} : 0,
                            found.there->has_aes ? std::uint64_t{k_cpu_aes} : 0};
    const ssh::AlgorithmNames wanted = ssh::preferred_algorithms(cpus, found.measured);
    const std::string cipher = best_of(wanted.ciphers, found.ours->ciphers, found.offered->ciphers);
    if (!cipher.empty() && cipher != found.negotiated->cipher_out && found.negotiated->cipher_out != ssh::k_none) {
      check.level = hint;
      check.advice = cipher +
                     " is likely faster between these processors; nbackup takes it by itself at the next run, "
                     "unless --ciphers or a configuration names others. 'nbackup bench' measures.";
    }
  }
  checks.push_back(std::move(check));
}

// ---- the machines ------------------------------------------------------------------------------------------------

std::string processor(const char* where, const MachineFacts& facts) {
  return fmt::format("{}: {}, {}{}", where, facts.cpu_model.empty() ? facts.architecture : facts.cpu_model,
                     format_counted(facts.cores, "processor", "processors"),
                     facts.has_aes ? ", AES instructions" : ", no AES instructions");
}

Check check_version(const MachineFacts& here, const MachineFacts& there) {
  const std::string text = fmt::format("{} there, {} here; {}", there.version, here.version, there.kernel);
  if (there.protocol_max < here.protocol_min || here.protocol_max < there.protocol_min) {
    return {"nbackup", problem, text + ": no protocol version in common",
            std::string(hint_for({Errc::protocol_version, 0, ""}))};
  }
  if (there.version != here.version) return {"nbackup", hint, text, "They work together; the same version is better."};
  return {"nbackup", ok, text, ""};
}

Check check_open_files(const MachineFacts& there) {
  const std::string text = fmt::format("{} open files for a command of sshd", format_count(there.open_files));
  if (there.open_files >= k_few_open_files) return {"limits", ok, text, ""};
  return {"limits", hint, text, "Raise nofile there (limits.conf, or LimitNOFILE of sshd's unit) to 1,024 or more."};
}

Check check_pipe(const MachineFacts& there) {
  if (there.pipe_bytes == 0) return {"pipes", ok, "sshd talks to nbackup over a socket", ""};
  const std::string text = format_bytes(there.pipe_bytes) + " between sshd and nbackup";
  if (there.pipe_bytes >= k_small_pipe_bytes) return {"pipes", ok, text, ""};
  return {"pipes", hint, text, "A fast link needs 1 MiB: raise fs.pipe-max-size and fs.pipe-user-pages-soft there."};
}

Check check_memory(const MachineFacts& there) {
  const std::string text =
      fmt::format("{} of {} available there", format_bytes(there.available_bytes), format_bytes(there.memory_bytes));
  if (there.available_bytes >= k_little_memory_bytes) return {"memory", ok, text, ""};
  return {"memory", hint, text, "It may run short: --compress-level=3 and below take least."};
}

Check check_clock(const DoctorFindings& found) {
  const double apart =
      std::abs(static_cast<double>(found.there->wall_seconds) - static_cast<double>(found.here.wall_seconds));
  // Both are cut to seconds, and the question took its time.
  if (apart <= k_clock_apart_seconds + found.round_trip_seconds) return {"clocks", ok, "agree", ""};
  return {"clocks", hint, fmt::format("{:.0f} s apart", apart),
          "Times of files stay right; logs and generations will not fit together. Use NTP."};
}

void check_machines(const DoctorFindings& found, Checks& checks) {
  const MachineFacts& there = *found.there;
  checks.push_back(check_version(found.here, there));
  checks.push_back({"processors", ok, processor("here", found.here) + "; " + processor("there", there), ""});
  checks.push_back({"round trip", ok, fmt::format("{:.2f} ms", found.round_trip_seconds * 1000), ""});
  checks.push_back(check_open_files(there));
  checks.push_back(check_pipe(there));
  checks.push_back(check_memory(there));
  checks.push_back(check_clock(found));
}

// ---- the destination ---------------------------------------------------------------------------------------------

Check check_writable(const PlaceFacts& place) {
  const std::string text = place.directory + (place.exists ? "" : ", below which it will be made");
  if (place.writable) return {"destination", ok, text, ""};
  return {"destination", problem, text + ": this user cannot write there", "Give it to this user, or choose another."};
}

Check check_space(const PlaceFacts& place) {
  constexpr auto k_not_said = std::numeric_limits<std::uint64_t>::max();
  if (place.free_bytes == k_not_said) return {"space", ok, "its file system does not say how much is free", ""};
  const std::string text = format_bytes(place.free_bytes) + " free";
  if (place.free_bytes < k_no_space_bytes) return {"space", problem, text, "Free some: a run stages what it copies."};
  if (place.free_bytes < k_little_space_bytes)
    return {"space", hint, text, "A run stages what it copies beside the old."};
  if (place.free_inodes < k_few_inodes) {
    return {"space", hint, text + ", " + format_counted(place.free_inodes, "inode", "inodes"),
            "Small files need inodes."};
  }
  return {"space", ok, text, ""};
}

Check check_kind(const PlaceFacts& place) {
  std::string lacks;
  const auto add = [&](bool has, const char* what) {
    if (!has) lacks += (lacks.empty() ? "" : ", ") + std::string(what);
  };
  add(place.xattrs, "extended attributes");
  add(place.hard_links, "hard links");
  add(place.symlinks, "symbolic links");
  const std::string kind = place.kind.empty() ? "unknown" : place.kind;
  std::string text = kind + (place.reflinks ? ", clones files" : ", copies what it cannot clone");
  if (!lacks.empty()) {
    return {"file system", hint, text + "; has no " + lacks,
            "What it cannot hold is kept beside the tree (.nbackup/kept.db) and comes back with a pull."};
  }
  return {"file system", ok, text, ""};
}

void check_place(const Result<PlaceFacts>& found, Checks& checks) {
  if (!found) {
    checks.push_back({"destination", problem, found.error().message(), "Check the path."});
    return;
  }
  checks.push_back(check_writable(*found));
  checks.push_back(check_space(*found));
  if (!found->writable) return;
  checks.push_back(check_kind(*found));
  if (found->folds_case) {
    checks.push_back({"names", hint, "A and a are one name there",
                      "Of names that differ in case only, one is copied and the other reported."});
  }
}

}  // namespace

std::string_view level_name(CheckLevel level) {
  switch (level) {
    case ok: return "ok";
    case hint: return "hint";
    case problem: return "problem";
  }
  return "";
}

std::vector<Check> judge(const DoctorFindings& found) {
  Checks checks;
  check_connection(found, checks);
  if (found.failure || !found.there) return checks;
  check_algorithms(found, checks);
  check_machines(found, checks);
  if (found.place) check_place(*found.place, checks);
  return checks;
}

}  // namespace nb::cli
