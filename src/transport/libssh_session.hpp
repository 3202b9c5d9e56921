// SPDX-License-Identifier: Apache-2.0
// An authenticated libssh session, before anything runs on it. Internal to transport; one thread at a time.
#pragma once

#include <libssh/libssh.h>

#include <memory>
#include <string>

#include "transport/libssh_stream.hpp"

namespace nb::transport {

struct SessionDeleter {
  void operator()(ssh_session session) const;
};
using SessionPtr = std::unique_ptr<ssh_session_struct, SessionDeleter>;

// While it lives, libssh's log lines of this thread go to `on_log` (or nowhere: by itself libssh writes them to
// standard error). libssh keeps this per thread. Scopes may lie within each other.
class LogScope {
 public:
  LogScope(const std::function<void(std::string_view)>& on_log, int verbosity);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  void* m_outer_userdata;
  int m_outer_level;
};

// Once for the process; later calls do nothing.
Status init_libssh();

// "what: libssh's own words", coded connection_lost where the connection is gone and `code` otherwise.
tl::unexpected<Error> session_error(ssh_session session, Errc code, const std::string& what);

// Creates a session and sets everything that LibsshOptions and its configuration say.
Result<SessionPtr> configure_session(const LibsshOptions& options);

// Connects and exchanges keys.
Status connect_session(ssh_session session, const LibsshOptions& options);

// libssh_host_key.cpp: refuses unknown and changed keys, or asks (PromptKind::confirm), as the policy says.
Result<ssh::HostKeyTrust> verify_host_key(ssh_session session, const LibsshOptions& options);

// libssh_switch.cpp: the change to `none` after the login (ssh/security.hpp). arm_switch() goes before connecting:
// libssh then exchanges keys anew as soon as the login is done. request_switch() goes between host key and login: it
// says what that exchange may ask for, and returns what the connection is then allowed to be; where it stays
// `encrypted` against what was asked for, on_warning has been told.
Status arm_switch(ssh_session session, const LibsshOptions& options);
Result<ssh::Security> request_switch(ssh_session session, const LibsshOptions& options, ssh::HostKeyTrust trust);

// Both directions.
Status set_ciphers(ssh_session session, const std::string& list);
Status set_macs(ssh_session session, const std::string& list);
Status set_option_text(ssh_session session, ssh_options_e option, const std::string& value);

// libssh_auth.cpp: logs in with the agent's keys and key files.
Status authenticate(ssh_session session, const LibsshOptions& options);

// True unless there is no terminal or the configuration forbids questions (BatchMode).
bool may_prompt(const LibsshOptions& options);

// The first value of a directive in LibsshOptions::settings, or "".
std::string setting(const LibsshOptions& options, std::string_view name);

// The name and port that the session is for, as in "rpi4:22".
std::string host_and_port(ssh_session session, const LibsshOptions& options);

// Of the last key exchange.
ssh::Negotiated read_negotiated(ssh_session session, const LibsshOptions& options);

}  // namespace nb::transport
