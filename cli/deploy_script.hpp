// SPDX-License-Identifier: Apache-2.0
// What `deploy` runs on a host that has no nbackup yet: two POSIX shell programs of ours. They come over standard
// input, so that the command itself is short, has no line end and means the same to every login shell, and so that a
// key which is restricted to another command gets words that it refuses at once.
//
// The conversation is one of lines; each side waits for the other's answer, so nothing is ever read too far.
//   host:   nbackup-deploy 1, then facts ("machine aarch64"), then end     (cli/deploy_facts.hpp)
//   client: the length of the second program in bytes, and the program. Or nothing: the host ends, nothing is changed
//   host:   ready
//   client: program SIZE SHA256, and as many bytes
//   host:   runs FIRST-LINE-OF--version, protocol SECOND-LINE | cannot-run LIBRARIES | failed WHY
//   client: keep | anything else
//   host:   done WHAT-A-COMMAND-OVER-SSH-FINDS-NOW | failed WHY
//   client: package SIZE SHA256, and as many bytes (a Debian package of nssh)
//   host:   done | failed WHY
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace nb::cli {

inline constexpr std::string_view k_deploy_greeting = "nbackup-deploy 1";

enum class DeployPlace : std::uint8_t { user, system };

// The command for the login shell; it reads deploy_facts_script() next, which must be sent at once.
std::string deploy_command(DeployPlace place);

// Tells the facts; changes nothing.
std::string_view deploy_facts_script();

// Receives files. A program gets its name only after it has come whole, has been run there and is on the disk, by one
// rename: a death before leaves the old one, and a temporary file that the next run removes once it is an hour old.
std::string_view deploy_receive_script();

}  // namespace nb::cli
