// SPDX-License-Identifier: Apache-2.0
// Commands that run where the file set lies: generations, ls, cat, diff, rollback, prune, policy, scrub, heal, and
// drill's choice of files. The table here says
// which there are, who may have them run, and which of their options travel. On this machine they run in this process;
// on a host, in the `nbackup serve` there (session/command.hpp), so that a restricted key allows no more than it did.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "cli/settings.hpp"
#include "session/command.hpp"

namespace nb::cli {

// What a command needs to be allowed to do.
enum class Right : std::uint8_t {
  read,    // look at the set
  add,     // add to what is known of it, and take nothing away: not for a key that may only read
  decide,  // change it, or what is kept of it: not for a key that may only read or only add
};

// What a server's user allows its clients.
struct ServeRights {
  std::optional<std::string> root;  // real absolute path
  bool read_only = false;
  bool append_only = false;
};

// One run of a command, with everything checked.
struct HostJob {
  Settings settings;  // the command and its own options
  std::string place;  // path string of this machine: a set's root or a directory in it
  RelPath path;       // in the set, seen from there
  std::optional<std::string> stay_within;
  std::string client;
  std::size_t columns = 0;  // of the terminal; 0: the output goes to none
};

struct HostCommandRow {
  CommandId id;
  Right needs;
  std::string_view options;  // that travel, in their long form, blanks between
  std::string_view whens;    // the same of those whose value is a WHEN
  Result<int> (*run)(const HostJob& job, session::CommandOutput& output, Clock& clock);
  // With these settings the right to read is enough. Null: with none.
  bool (*only_looks)(const Settings& settings) = nullptr;

  [[nodiscard]] Right right_for(const Settings& settings) const {
    return only_looks != nullptr && only_looks(settings) ? Right::read : needs;
  }
};

std::span<const HostCommandRow> host_command_table();

// The words of a Command message: name, options, "--", place, path. Pure. `options` are words as Settings::given has
// them; those that do not travel are left out, and times become absolute, seen from `now`.
Result<std::vector<std::string>> host_command_words(const HostCommandRow& row, const std::vector<std::string>& options,
                                                    const std::string& place, const RelPath& path, WallTime now);

// What a peer's words ask for. Pure. Errc::unsupported for a command or option that this nbackup does not know, or that
// is not for clients; Errc::usage for a bad value; Errc::protocol for what no client sends.
struct HostRequest {
  const HostCommandRow* row = nullptr;
  HostJob job;
};
Result<HostRequest> parse_host_words(const std::vector<std::string>& words);

// Errc::read_only if `rights` do not cover what `row` needs for this.
Status check_right(const HostCommandRow& row, const Settings& settings, const ServeRights& rights);

// Server: what a Command message asks for, as far as `rights` go.
Result<int> answer_host_command(const wire::Command& command, const ServeRights& rights, session::CommandOutput& output,
                                Clock& clock);

// Client: runs the command of `settings` where its set lies; its exit code there. What it writes goes to `output`.
Result<int> have_host_command_run(const Settings& settings, session::CommandOutput& output, Clock& clock);

// Client: the same with standard output; the process's exit code.
int run_host_command(const Settings& settings, Clock& clock);

}  // namespace nb::cli
