// SPDX-License-Identifier: Apache-2.0
// A command that runs where the set lies: what the server does with a Command message, and the client's end of it. Which
// commands there are and what they do is cli's (cli/host_command.hpp); here are only the messages.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "session/client.hpp"
#include "session/connection.hpp"
#include "session/observer.hpp"
#include "wire/messages.hpp"

namespace nb::session {

// Where a command's output goes, wherever it runs.
class CommandOutput {
 public:
  virtual ~CommandOutput() = default;
  // More of standard output, any number of bytes. An error (nobody reads any more, a full disk) is to end the command.
  virtual Status write(std::string_view bytes) = 0;
  // One path could not be handled; the command goes on.
  virtual Status problem(const Error& error) = 0;
  // For whoever watches.
  virtual Status notice(const std::string& text) = 0;
};

// Runs a command; its exit code, or why it ended early.
using CommandHandler = std::function<Result<int>(const wire::Command& command, CommandOutput& output)>;

// Server: runs `handler`, whose output goes to the client, and says how it ended. An error is for the caller to send.
// `on_client_gone` is called, on any thread, if the client ends or loses the connection while the handler runs.
Status answer_command(Connection& connection, const wire::Command& command, const CommandHandler& handler,
                      const std::function<void()>& on_client_gone);

struct CommandOptions {
  std::chrono::seconds inactivity{0};  // a silence longer than this is Errc::timeout; 0: wait for ever
  std::function<void(const wire::Hello&)> on_hello = {};
};

// Client: has `command` run at the other end and passes on what it writes; its exit code. Errors are the command's own,
// the connection's, or those of `output`.
Result<int> run_command(const wire::Command& command, const Connector& connect, const CommandOptions& options,
                        CommandOutput& output);

}  // namespace nb::session
