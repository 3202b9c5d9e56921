// SPDX-License-Identifier: Apache-2.0
// LibsshStream: a ByteStream over an SSH session inside this process (libssh). Opening one connects, checks the host
// key, logs in with keys and starts the remote command; after that one thread owns the session and moves data between
// the connection and two bounded buffers of 4 MiB, woken by an eventfd. Nobody else touches libssh.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ssh/carrier_choice.hpp"
#include "ssh/destination.hpp"
#include "ssh/security.hpp"
#include "transport/byte_stream.hpp"
#include "transport/process_stream.hpp"

namespace nb::transport {

enum class PromptKind : std::uint8_t {
  secret,   // a passphrase: not echoed
  confirm,  // "yes" accepts; anything else does not
};

// Asks the person at the terminal; nothing when they gave up. An empty function means that there is no terminal:
// encrypted keys outside an agent are then skipped and unknown hosts refused.
using Prompt = std::function<std::optional<std::string>(PromptKind kind, const std::string& text)>;

struct LibsshOptions {
  ssh::Host host;                          // name as the user wrote it; user and port override the configuration
  std::string command;                     // for the remote shell: build it with ssh::shell_command
  std::optional<std::string> config_file;  // this file alone; unset: ~/.ssh/config and /etc/ssh/ssh_config
  // What `ssh -G` said (ssh_select): taken instead of any configuration file, which libssh then does not read. Without
  // it libssh reads the files itself; StrictHostKeyChecking is then taken as "ask", whatever they say.
  std::optional<ssh::EffectiveConfig> settings;
  std::vector<std::string> identity_files;
  ssh::CpuPair cpus;             // what orders the algorithms, below the configuration: ssh::preferred_algorithms
  ssh::AlgorithmLists measured;  // comes before that order; likewise below the configuration
  ssh::AlgorithmLists demanded;  // wins over that and over the configuration
  // More than `encrypted` also needs a verified host key, a libssh and a server that have `none`. Where one is missing
  // the connection stays encrypted, and on_warning is told.
  ssh::Security security = ssh::Security::encrypted;
  // For each wait while connecting and logging in. Unset: ConnectTimeout of the settings, else 30 s.
  std::optional<std::chrono::milliseconds> connect_timeout;
  std::chrono::milliseconds write_inactivity{0};  // zero: wait for ever
  int verbosity = 0;                              // 0..4, libssh's own levels; lines go to on_log
  std::function<void(std::string_view line)> on_log;
  StderrLine on_stderr;
  std::function<void(const std::string&)> on_warning;  // one line for the user
  Prompt prompt;
};

// Tells on_warning "--ssh-security=integrity for rpi4: WHAT", where what was asked for is not what is done.
void warn_of_security(const LibsshOptions& options, const std::string& what);

class LibsshByteStream : public ByteStream {
 public:
  // What holds for the data: after a change to `none`, what that came to.
  [[nodiscard]] virtual const ssh::Negotiated& negotiated() const = 0;
};

// The algorithms that the linked libssh has, of those that nbackup asks for, and `none` where it was built with it.
const ssh::AlgorithmNames& libssh_algorithms();

// Errc::connect or connect_timeout: no connection. Errc::host_key: unknown or changed key, with what to do about it in
// the message. Errc::auth: no key was accepted; the message names what the server offers. Errc::unsupported: libssh and
// the server (or the configured algorithm lists) have no algorithm in common, or libssh refuses a setting.
// Errc::insecure: what was negotiated is less than `security` allows; nothing but the login was sent.
Result<std::unique_ptr<LibsshByteStream>> open_libssh_stream(LibsshOptions options);

}  // namespace nb::transport
