// SPDX-License-Identifier: Apache-2.0
// How a command reaches the other side: over SSH (libssh or a program, transport/ssh_select.hpp chooses) or as a
// process on this machine.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cache/client_store.hpp"
#include "cli/endpoints.hpp"
#include "cli/settings.hpp"
#include "session/client.hpp"
#include "transport/ssh_select.hpp"

namespace nb::cli {

enum class FarRights : std::uint8_t { read_write, read_only };

// Where the connection's own messages go. All are set; they may be called from any thread.
struct ConnectionMessages {
  std::function<void(const std::string&)> on_notice;
  std::function<void(const std::string&)> on_warning;
  std::function<void(const transport::RemoteLink&)> on_link;
  std::function<void(std::string_view)> on_remote_line;
};

struct FarHost {
  ssh::Host address;
  std::optional<std::uint64_t> cpu_flags;  // as remembered; unset: never met
  ssh::AlgorithmLists measured;            // what bench --save remembers
};

// What the client's memory has of it.
FarHost remembered_host(const ssh::Host& address, const std::shared_ptr<cache::Store>& memory);

// For commands without a reporter of their own: all but links on standard error.
ConnectionMessages printed_messages();

// Where nbackup is looked for on a host, for a POSIX shell there: a command over SSH often does not look into the places
// where deploy puts it.
inline constexpr std::string_view k_far_path = "$PATH:$HOME/.local/bin:/usr/local/bin";

// What the remote shell, whichever it is, is to run: --remote-path as the user wrote it (it may be "sudo nbackup"), or
// nbackup from k_far_path; then `words`, quoted.
std::string remote_command_line(const Settings& settings, const std::vector<std::string>& words);

// The same for `serve`, with what the settings ask of the other end: a pull is throttled and timed there too.
std::string serve_command(const Settings& settings, FarRights rights);

// What transport has to know to run `command` on `host`.
transport::RemoteOptions remote_options(const Settings& settings, const FarHost& host, const std::string& command,
                                        const ConnectionMessages& messages);

// Opens `command` on `host` once.
Result<std::unique_ptr<transport::ByteStream>> open_remote(const Settings& settings, const FarHost& host,
                                                           const std::string& command,
                                                           const ConnectionMessages& messages);

// For session::run: makes a new connection at each call. `clock` outlives it.
session::Connector make_connector(const Settings& settings, const std::optional<FarHost>& host, FarRights rights,
                                  ConnectionMessages messages, Clock& clock);

// "user@host" of this process, for the lock note of a set.
std::string client_name();

}  // namespace nb::cli
