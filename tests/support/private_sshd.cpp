// SPDX-License-Identifier: Apache-2.0
#include "support/private_sshd.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "transport/process_stream.hpp"

namespace nb::test {
namespace {

using namespace std::chrono_literals;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "test support: %s\n", why.c_str());
  std::abort();
}

std::string user_name() {
  const passwd* entry = ::getpwuid(::getuid());
  return entry != nullptr ? entry->pw_name : "root";
}

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// A port that was free a moment ago; sshd's own bind decides, and start() tries again.
std::uint16_t free_port() {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  if (!fd.valid() || ::bind(fd.get(), any, size) != 0 || ::getsockname(fd.get(), any, &size) != 0) {
    give_up("no free port");
  }
  return ntohs(address.sin_port);
}

bool accepts(std::uint16_t port) {
  const Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(port);
  return fd.valid() && ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
}

std::vector<pid_t> children_of(pid_t pid) {
  const std::string number = std::to_string(pid);
  std::istringstream list(read_text_file("/proc/" + number + "/task/" + number + "/children"));
  std::vector<pid_t> children;
  for (pid_t child = 0; list >> child;) children.push_back(child);
  return children;
}

enum class Then : std::uint8_t { stays, dies };

// Stopped first: or it would tell the other side that its own child has ended.
void stop_tree_below(pid_t pid, Then then) {
  for (const pid_t child : children_of(pid)) {
    ::kill(child, SIGSTOP);
    stop_tree_below(child, then);
    if (then == Then::dies) ::kill(child, SIGKILL);
  }
}

}  // namespace

void write_text_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  if (!out.flush()) give_up("cannot write " + path);
}

std::string read_text_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void make_key(const std::string& path, const std::string& passphrase) {
  const auto run = transport::run_and_capture(
      {"ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "nbackup-test", "-f", path}, 65536, 30s);
  if (!run || !run->end.ended_well()) give_up("ssh-keygen failed for " + path);
}

Result<std::unique_ptr<PrivateSshd>> PrivateSshd::start(const std::string& extra_config) {
  std::unique_ptr<PrivateSshd> server(new PrivateSshd);
  if (::getuid() == 0) static_cast<void>(::mkdir("/run/sshd", 0755));  // sshd's privilege separation wants it
  make_key(server->m_dir.path("host_key"));
  make_key(server->user_key());
  server->authorize(server->user_key() + ".pub");
  Status status;
  for (int attempt = 0; attempt < 5; ++attempt) {
    server->m_port = free_port();
    server->prepare(extra_config);
    status = server->launch();
    if (status) return server;
  }
  return tl::make_unexpected(status.error());
}

void PrivateSshd::prepare(const std::string& extra_config) {
  write_text_file(m_dir.path("sshd_config"), extra_config + "\nPort " + std::to_string(m_port) +
                                                 "\nListenAddress 127.0.0.1\nHostKey " + m_dir.path("host_key") +
                                                 "\nAuthorizedKeysFile " + m_dir.path("authorized_keys") +
                                                 "\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
                                                 "KbdInteractiveAuthentication no\nPermitRootLogin yes\n"
                                                 "PidFile none\nMaxStartups 100\nLogLevel VERBOSE\n");
  write_text_file(known_hosts(), known_hosts_line());
}

Status PrivateSshd::launch() {
  const Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const Fd log(::open(m_dir.path("sshd.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!nothing.valid() || !log.valid()) return fail_errno("open sshd log");
  NB_TRY_ASSIGN(auto child, transport::spawn({"/usr/sbin/sshd", "-D", "-e", "-f", m_dir.path("sshd_config")},
                                             nothing.get(), log.get(), log.get()));
  m_server = std::make_unique<transport::Child>(std::move(child));
  m_pid = m_server->pid();
  return wait_until_listening();
}

Status PrivateSshd::wait_until_listening() {
  const auto until = std::chrono::steady_clock::now() + 20s;
  while (!accepts(m_port)) {
    if (m_server->wait(10ms)) return fail(Errc::connect, "sshd ended: " + read_text_file(m_dir.path("sshd.log")));
    if (std::chrono::steady_clock::now() > until) return fail(Errc::timeout, "sshd does not listen");
  }
  // Somebody else may have taken the port just before sshd tried to.
  if (m_server->wait(0ms)) return fail(Errc::connect, "sshd ended: " + read_text_file(m_dir.path("sshd.log")));
  return {};
}

PrivateSshd::~PrivateSshd() {
  if (!m_server) return;
  kill_connections();
  m_server->signal(SIGKILL);
  static_cast<void>(m_server->wait(10s));
}

void PrivateSshd::kill_connections() const { stop_tree_below(m_pid, Then::dies); }

void PrivateSshd::stop_connections() const { stop_tree_below(m_pid, Then::stays); }

std::string PrivateSshd::known_hosts_line(const std::string& public_key_file) const {
  const std::string file = public_key_file.empty() ? m_dir.path("host_key.pub") : public_key_file;
  return "[127.0.0.1]:" + std::to_string(m_port) + " " + read_text_file(file);
}

void PrivateSshd::authorize(const std::string& public_key_file) const {
  const std::string file = m_dir.path("authorized_keys");
  write_text_file(file, read_text_file(file) + read_text_file(public_key_file));
}

std::string PrivateSshd::bare_client_config(const std::string& lines) const {
  static std::atomic<int> counter{0};
  const std::string path = m_dir.path("client_config." + std::to_string(++counter));
  write_text_file(path, "Host *\n" + lines + "\nHostName 127.0.0.1\nPort " + std::to_string(m_port) + "\nUser " +
                            user_name() + "\n");
  return path;
}

std::string PrivateSshd::client_config(const std::string& extra) const {
  return bare_client_config(extra + "\nIdentityFile " + user_key() + "\nUserKnownHostsFile " + known_hosts() +
                            "\nGlobalKnownHostsFile " + m_dir.path("no_such_file"));
}

}  // namespace nb::test
