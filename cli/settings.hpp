// SPDX-License-Identifier: Apache-2.0
// Settings: the command line, and what the configuration file says about its host, as values, for all commands; each
// uses the part that its rows of the option table can set.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "codec/compression.hpp"
#include "session/job.hpp"
#include "ssh/security.hpp"
#include "txn/retention.hpp"
#include "txn/scrub_record.hpp"
#include "wire/messages.hpp"

namespace nb::cli {

struct Outcome;

enum class CommandId : std::uint8_t {
  init,
  push,
  pull,
  verify,
  serve,
  recover,
  status,
  cache,
  bench,
  doctor,
  deploy,
  restore,
  generations,
  ls,
  cat,
  diff,
  rollback,
  prune,
  policy,
  drill,
  scrub,
  heal
};

enum class FilterKind : std::uint8_t { exclude, include, exclude_from };

// One filter option, in the order of the command line, which is the order in which rules are tried.
struct FilterOption {
  FilterKind kind = FilterKind::exclude;
  std::string text;  // a pattern, or a file name
};

enum class ProgressChoice : std::uint8_t { automatic, always, never };

inline constexpr std::chrono::seconds k_default_timeout{300};

// Whether changed files are sent as what differs from the old ones; automatic: unless both ends are this machine.
enum class Deltas : std::uint8_t { automatic, always, never };

struct Settings {
  CommandId command = CommandId::push;
  std::vector<std::string> arguments;  // what is not an option, in order
  std::vector<std::string> given;      // the options in order, by their long names: "--at=3d"; the file's come first
  std::optional<Error> config_error;   // the configuration file cannot be used: to be reported in place of working

  // What is transferred, and the guards.
  std::uint64_t flags = 0;  // wire::OpenFlag bits
  std::int64_t max_delete = session::k_usual_max_delete;
  std::vector<FilterOption> filters;
  bool allow_unmounted = false;
  Deltas deltas = Deltas::automatic;
  bool paranoid = false;          // no remembered digest is believed
  std::optional<std::string> at;  // WHEN, of the sources
  bool read_back = false;         // restore --verify

  // The connection and waiting.
  std::optional<std::string> rsh;
  std::optional<std::string> remote_path;
  std::optional<std::string> ssh_config;
  ssh::Security security = ssh::Security::encrypted;
  bool allow_tampering = false;
  ssh::AlgorithmLists algorithms;                 // as the user names them
  std::uint64_t bytes_per_second = 0;             // 0: no limit
  std::optional<codec::Compression> compression;  // unsaid: automatic, or off where both ends are this machine
  // Both ends send something every 10 s, even during a long sync, so silence means a dead line. 0: wait for ever.
  std::chrono::seconds timeout = k_default_timeout;
  std::optional<std::chrono::seconds> connect_timeout;
  std::chrono::seconds wait{0};
  std::chrono::seconds wait_readers{60};
  unsigned retries = 0;

  // Output.
  unsigned verbosity = 0;
  bool quiet = false;
  bool itemize = false;
  bool stats = false;
  bool json = false;
  ProgressChoice progress = ProgressChoice::automatic;
  std::optional<std::string> log_file;

  // Reports (cli/reported_run.hpp).
  std::optional<std::string> before;  // these three are lines for /bin/sh
  std::optional<std::string> after;
  std::optional<std::string> on_failure;
  std::optional<std::string> ping_url;
  std::optional<std::string> mail_on_change;
  Outcome* outcome = nullptr;  // where a command notes what came of it; null: nobody asks

  // status, and cache prune
  std::optional<std::chrono::seconds> max_age;
  bool forget = false;

  // ls, diff; WHEN as in `at`. heal: `from` is a directory where the set lies
  std::optional<std::string> from;
  std::optional<std::string> to;
  bool long_form = false;
  bool recursive = false;

  // prune, policy, init
  std::optional<txn::RetentionPolicy> keep;  // unset: no --keep option was given
  bool default_policy = false;
  bool damaged = false;  // what cannot be restored goes too

  // drill
  std::uint64_t sample = 100;                          // files to restore, at most
  std::uint64_t limit_bytes = std::uint64_t{1} << 30;  // and their bytes
  std::vector<std::string> drill_sources;              // to compare with, as push names its sources

  // scrub
  txn::ScrubPart part;
  std::optional<std::chrono::seconds> scrub_time;

  // bench
  std::chrono::seconds bench_time{60};
  std::optional<std::string> write_here;  // a directory on this machine
  bool csv = false;
  bool save = false;
  bool far_end = false;

  // deploy
  bool sudo = false;                        // for the system, not for the user
  bool nssh = false;                        // nssh too
  bool force = false;                       // in place of newer ones too
  std::optional<std::string> binary;        // this program instead of the running one
  std::optional<std::string> nssh_package;  // this package

  // serve
  std::optional<std::string> root;
  bool read_only = false;
  bool append_only = false;

  [[nodiscard]] bool has(wire::OpenFlag flag) const { return (flags & flag) != 0; }
};

}  // namespace nb::cli
