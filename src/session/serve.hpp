// SPDX-License-Identifier: Apache-2.0
// The remote end: answers one session on a byte stream, as source (pull), as sink (push), or by a
// command.
#pragma once

#include <optional>
#include <string>

#include "base/clock.hpp"
#include "session/command.hpp"
#include "session/observer.hpp"
#include "transport/byte_stream.hpp"

namespace nb::session {

struct ServeOptions {
  std::optional<std::string> root;  // real absolute path: everything is confined to it, and relative paths start here
  bool read_only = false;           // refuses every push that is not a dry run or a verification
  // Refuses what would take away an earlier state: a push without history, or to where no set keeps one; one that
  // deletes more than the set's limit, or the usual one, whatever the client allows.
  bool append_only = false;
  std::chrono::seconds inactivity{0};
  Limits limits;
  // Called on any thread when the client ends or loses the connection while a command runs: what it does is to end.
  std::function<void()> on_client_gone;
  CommandHandler on_command;  // none: every command is Errc::unsupported; keeps to root and read_only by itself
};

// Serves one session to its end. An error was already sent to the peer where that was possible.
Status serve(transport::ByteStream& stream, const ServeOptions& options, Observer& observer, Clock& clock);

}  // namespace nb::session
