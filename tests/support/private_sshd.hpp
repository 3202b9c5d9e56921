// SPDX-License-Identifier: Apache-2.0
// PrivateSshd: a real OpenSSH server for tests, on a free loopback port, with throw-away host and user keys in a
// temporary directory. Nothing of the user's own ~/.ssh is read or written: clients are pointed at client_config().
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "support/temp_dir.hpp"
#include "transport/spawn.hpp"

namespace nb::test {

void write_text_file(const std::string& path, const std::string& text);
std::string read_text_file(const std::string& path);

// ssh-keygen -t ed25519; `path`.pub is written too. A failure ends the test program.
void make_key(const std::string& path, const std::string& passphrase = {});

class PrivateSshd {
 public:
  // `extra_config` goes into sshd_config first, so that it wins.
  static Result<std::unique_ptr<PrivateSshd>> start(const std::string& extra_config = {});
  ~PrivateSshd();  // kills the server and its connections, by their process numbers
  PrivateSshd(const PrivateSshd&) = delete;
  PrivateSshd& operator=(const PrivateSshd&) = delete;

  [[nodiscard]] std::uint16_t port() const { return m_port; }
  // An ssh_config that makes any host name reach this server, as the current user with the accepted key, and with a
  // known_hosts file that has its key. `extra` goes in front of everything.
  [[nodiscard]] std::string client_config(const std::string& extra = {}) const;
  // The same, with only the lines given here besides HostName, Port and User.
  [[nodiscard]] std::string bare_client_config(const std::string& lines) const;

  [[nodiscard]] const TempDir& dir() const { return m_dir; }
  [[nodiscard]] std::string user_key() const { return m_dir.path("user_key"); }
  [[nodiscard]] std::string known_hosts() const { return m_dir.path("known_hosts"); }
  // "[127.0.0.1]:port KEY" for the given public key file, the server's own by default.
  [[nodiscard]] std::string known_hosts_line(const std::string& public_key_file = {}) const;
  // One more key that may log in.
  void authorize(const std::string& public_key_file) const;
  // SIGKILL to every process of every connection, as when the machine dies.
  void kill_connections() const;
  // SIGSTOP to them, as when the machine hangs. kill_connections() ends them all the same.
  void stop_connections() const;

 private:
  PrivateSshd() = default;
  void prepare(const std::string& extra_config);
  Status launch();
  Status wait_until_listening();

  TempDir m_dir;
  std::uint16_t m_port = 0;
  pid_t m_pid = -1;
  std::unique_ptr<transport::Child> m_server;
};

}  // namespace nb::test
