// SPDX-License-Identifier: Apache-2.0
// Which carrier a host gets: libssh in this process, or the ssh program. libssh ignores most of ssh_config without a
// word; so `ssh -G HOST` is compared with that of an empty configuration, and a directive that libssh would ignore
// selects the program (the decision itself is pure: ssh/carrier_choice.hpp). This file runs the program and reads
// known_hosts; session/ calls it once for each connection.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ssh/carrier_choice.hpp"
#include "ssh/destination.hpp"
#include "transport/byte_stream.hpp"
#include "transport/libssh_stream.hpp"

namespace nb::transport {

struct SelectOptions {
  ssh::Host host;
  std::optional<std::string> config_file;  // as ssh -F
  std::string ssh_program = "ssh";
  std::chrono::milliseconds limit{30000};  // a `Match exec` may take its time
};

// Never fails because of what it finds: with no ssh program, libssh is chosen and the reason says what it ignores.
// Errc::usage when ssh itself refuses the configuration file (its own message in the context).
Result<ssh::CarrierChoice> select_carrier(const SelectOptions& options);

// What an ssh program has (`ssh -Q`); it knows more than it proposes by itself.
Result<ssh::AlgorithmNames> program_algorithms(const std::string& ssh_program);

// The command line for a remote shell: the words of `rsh` (at least one), then -F (where the program is an ssh), -p and
// -l where given, the host and the command as one word.
std::vector<std::string> remote_shell_argv(const std::vector<std::string>& rsh, const ssh::Host& host,
                                           const std::optional<std::string>& config_file, const std::string& command);

// The connection that was made.
struct RemoteLink {
  ssh::Carrier carrier = ssh::Carrier::libssh;
  std::string description;                    // ByteStream::describe()
  std::optional<ssh::Negotiated> negotiated;  // unset for a program that does not tell
};

struct RemoteOptions {
  LibsshOptions libssh;            // host, command and all else; used for either carrier as far as it applies
  std::optional<std::string> rsh;  // -e: this program instead of choosing
  bool skip_libssh = false;        // it was tried and could not do it: the ssh program at once
  std::function<void(const std::string&)> on_notice;  // "ProxyJump is set for rpi4: using the ssh program"
  // Once, when what there is to know is known: as the stream opens, or, with an ssh program, on the reading thread
  // before the first byte that it gives.
  std::function<void(const RemoteLink&)> on_link;
};

// Whether the ssh program may do what libssh could not: log in, or agree on algorithms.
bool program_may_do_better(const Error& error);

// Everything between an address and a stream: chooses the carrier and opens it. Where libssh could not log in or
// agree on algorithms, the ssh program gets a try: it asks for passwords where libssh.prompt says that there is a
// terminal, and asks nothing (BatchMode) otherwise. How an ssh program fares is known only from its end
// (ByteStream::wait_end).
Result<std::unique_ptr<ByteStream>> open_remote_stream(const RemoteOptions& options);

}  // namespace nb::transport
