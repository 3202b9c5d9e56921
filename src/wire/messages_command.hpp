// SPDX-License-Identifier: Apache-2.0
// Messages of a command that runs where the set lies: Command, Text, CommandEnd. Included by messages.hpp. Command is a
// list of tagged fields, so that later versions can add some.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "wire/message_type.hpp"

namespace nb::wire {

// Client to server, in place of Open: run this, please. Only to a server with k_feature_commands.
struct Command {
  static constexpr auto k_type = MessageType::command;
  // The command's name, options in their long form ("--at=12"), "--", then paths: the first is the remote side's path
  // string, resolved there, inside --root. Never given to a shell.
  std::vector<std::string> words;
  std::string client;             // user@host of the client, for the lock file
  std::uint64_t columns = 0;      // of the terminal that the output is for; 0: it is for none
  std::string zone;               // that times are shown in, as a TZ rule ("CET-1CEST,M3.5.0,M10.5.0/3"); empty: UTC
  std::uint64_t compression = 0;  // of what the server sends: codec::encode()
};

// Server to client: the next piece of what the command writes to its standard output.
struct Text {
  static constexpr auto k_type = MessageType::text;
  ByteView bytes;  // into the received frame; not empty
};

// Server to client: the command is through. What ended it early is an ErrorMessage instead.
struct CommandEnd {
  static constexpr auto k_type = MessageType::command_end;
  std::uint8_t exit_code = 0;
};

// Errc::usage if `command` breaks a limit, so that the peer would refuse it. Its words come from the user: check before
// the message is added to a frame, which asserts that it fits.
Status check_command(const Command& command);

}  // namespace nb::wire
