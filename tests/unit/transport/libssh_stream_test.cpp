// SPDX-License-Identifier: Apache-2.0
// What only an SSH session in this process has: host keys, logins, the remote command's end, a connection that breaks.
#include "transport/libssh_stream.hpp"
#include "transport/libssh_stream_impl.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <future>
#include <mutex>
#include <thread>

#include "base/cpu.hpp"
#include "ssh/quote.hpp"
#include "stream_rig.hpp"
#include "support/loopback.hpp"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

namespace nb::test {
namespace {

using namespace std::chrono_literals;
using transport::LibsshOptions;
using transport::open_libssh_stream;
using transport::PeerEnd;
using transport::PromptKind;

std::string server_fingerprint(const PrivateSshd& server) {
  const auto run = transport::run_and_capture({"ssh-keygen", "-l", "-f", server.dir().path("host_key.pub")}, 4096, 20s);
  REQUIRE(run.has_value());
  const std::size_t at = run->output.find("SHA256:");
  return run->output.substr(at, run->output.find(' ', at) - at);
}

// Options with a known_hosts file of their own, which holds `line`.
LibsshOptions with_known_hosts(const TempDir& dir, const std::string& line, const std::string& extra = {}) {
  const PrivateSshd& server = shared_sshd();
  write_text_file(dir.path("known_hosts"), line);
  LibsshOptions options = libssh_options(server, "cat");
  options.config_file =
      server.bare_client_config(extra + "\nIdentityFile " + server.user_key() + "\nUserKnownHostsFile " +
                                dir.path("known_hosts") + "\nGlobalKnownHostsFile " + dir.path("none"));
  return options;
}

// What `ssh -G` would have told about with_known_hosts().
LibsshOptions with_settings(const TempDir& dir, const std::string& line, const std::string& policy) {
  LibsshOptions options = with_known_hosts(dir, line);
  options.config_file.reset();
  options.settings = ssh::EffectiveConfig{{"hostname", {"127.0.0.1"}},
                                          {"port", {std::to_string(shared_sshd().port())}},
                                          {"identityfile", {shared_sshd().user_key()}},
                                          {"userknownhostsfile", {dir.path("known_hosts")}},
                                          {"globalknownhostsfile", {dir.path("none")}},
                                          {"stricthostkeychecking", {policy}}};
  return options;
}

// Whether a socket connected to `port` of this machine has TCP's keep-alive timer running.
bool is_kept_alive(std::uint16_t port) {
  char wanted[16];
  static_cast<void>(std::snprintf(wanted, sizeof wanted, ":%04X", unsigned{port}));
  std::ifstream table("/proc/net/tcp");
  std::string number;
  std::string local;
  std::string remote;
  std::string state;
  std::string queues;
  std::string timer;
  std::string rest;
  while (table >> number >> local >> remote >> state >> queues >> timer && std::getline(table, rest)) {
    if (remote.ends_with(wanted) && timer.starts_with("02:")) return true;
  }
  return false;
}

// Of this process's sockets that are connected to `port`: as little as the kernel allows.
void shrink_send_buffers(std::uint16_t port) {
  for (int fd = 3; fd < 256; ++fd) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0 || ntohs(peer.sin_port) != port) continue;
    const int bytes = 1;
    CHECK(::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) == 0);
  }
}

Error refused(LibsshOptions options) {
  auto stream = open_libssh_stream(std::move(options));
  REQUIRE_FALSE(stream.has_value());
  return stream.error();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string other_host_line() {
  static const TempDir dir;
  static const bool made = (make_key(dir.path("other")), true);
  REQUIRE(made);
  return shared_sshd().known_hosts_line(dir.path("other.pub"));
}

}  // namespace

TEST_CASE("a silent connection is looked after by TCP", "[transport]") {
  const auto stream = open_libssh_stream(libssh_options(shared_sshd(), "cat"));
  REQUIRE(stream.has_value());
  // While something is on its way the timer is that of its repetition.
  for (int tries = 0; tries < 1000 && !is_kept_alive(shared_sshd().port()); ++tries) std::this_thread::sleep_for(10ms);
  CHECK(is_kept_alive(shared_sshd().port()));
}

TEST_CASE("the negotiated algorithms are told", "[transport]") {
  auto stream = open_libssh_stream(libssh_options(shared_sshd(), "cat"));
  REQUIRE(stream.has_value());
  const auto& found = (*stream)->negotiated();
  CHECK(found.kex == "curve25519-sha256");
  CHECK(found.host_key_type == "ssh-ed25519");
  CHECK_FALSE(found.cipher_in.empty());
  CHECK_FALSE(found.cipher_out.empty());
  CHECK(contains(found.server_version, "OpenSSH"));
  const std::string port = std::to_string(shared_sshd().port());
  CHECK((*stream)->describe().starts_with("libssh backup-host:" + port + " (curve25519-sha256, ssh-ed25519, "));
}

TEST_CASE("the order follows both processors", "[transport]") {
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.cpus = {k_cpu_aes, k_cpu_aes};
  LibsshOptions slow_peer = options;
  slow_peer.cpus.theirs = 0;
  auto stream = open_libssh_stream(std::move(options));
  REQUIRE(stream.has_value());
  CHECK((*stream)->negotiated().cipher_out == "aes128-gcm@openssh.com");
  CHECK((*stream)->negotiated().mac_out.empty());
  stream = open_libssh_stream(std::move(slow_peer));
  REQUIRE(stream.has_value());
  CHECK((*stream)->negotiated().cipher_in == "chacha20-poly1305@openssh.com");
}

TEST_CASE("the configuration file wins over our order, and what is demanded over both", "[transport]") {
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.config_file = shared_sshd().client_config("Ciphers aes256-ctr");
  options.cpus = {k_cpu_aes, k_cpu_aes};
  LibsshOptions demanding = options;
  auto stream = open_libssh_stream(std::move(options));
  REQUIRE(stream.has_value());
  CHECK((*stream)->negotiated().cipher_out == "aes256-ctr");
  CHECK_FALSE((*stream)->negotiated().mac_out.empty());
  demanding.demanded.ciphers = "aes128-ctr";
  demanding.demanded.macs = "hmac-sha2-512";
  demanding.demanded.kex = "ecdh-sha2-nistp256";
  stream = open_libssh_stream(std::move(demanding));
  REQUIRE(stream.has_value());
  CHECK((*stream)->negotiated().cipher_out == "aes128-ctr");
  CHECK((*stream)->negotiated().mac_out == "hmac-sha2-512");
  CHECK((*stream)->negotiated().kex == "ecdh-sha2-nistp256");
}

TEST_CASE("an algorithm that libssh does not have is unsupported", "[transport]") {
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.demanded.ciphers = "no-such-cipher";
  CHECK(refused(std::move(options)).code == Errc::unsupported);
  LibsshOptions kex = libssh_options(shared_sshd(), "cat");
  kex.demanded.ciphers = "3des-cbc";  // libssh has it, sshd does not
  CHECK(refused(std::move(kex)).code == Errc::unsupported);
}

TEST_CASE("what libssh has is found out by asking it", "[transport]") {
  const auto& known = transport::libssh_algorithms();
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  CHECK(has(known.ciphers, "aes128-gcm@openssh.com"));
  CHECK(has(known.macs, "hmac-sha2-256-etm@openssh.com"));
  CHECK(has(known.kex, "curve25519-sha256"));
  CHECK_FALSE(has(known.kex, "sntrup761x25519-sha512"));
}

TEST_CASE("a server without none: the connection stays encrypted, and that is said once", "[transport]") {
  const auto security = GENERATE(ssh::Security::integrity, ssh::Security::off);
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.security = security;
  std::vector<std::string> warnings;
  options.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  auto stream = open_libssh_stream(std::move(options));
  REQUIRE(stream.has_value());
  CHECK((*stream)->negotiated().cipher_out == "chacha20-poly1305@openssh.com");
  REQUIRE(warnings.size() == 1);
  CHECK(warnings.front().starts_with("--ssh-security=" + std::string(ssh::security_name(security)) +
                                     " for backup-host: "));
  CHECK(warnings.front().ends_with("; the connection stays encrypted"));
  const Bytes sent = pattern(1 << 20);
  REQUIRE((*stream)->write(sent).has_value());
  REQUIRE((*stream)->finish_writing().has_value());
  CHECK(read_all(**stream).value() == sent);
}

TEST_CASE("a host key that was taken without a look is good for encryption only", "[transport]") {
  const TempDir dir;
  const std::string policy = GENERATE(as<std::string>{}, "accept-new", "false");
  std::vector<std::string> warnings;
  LibsshOptions options = with_settings(dir, "", policy);
  options.security = ssh::Security::integrity;
  options.on_warning = [&](const std::string& text) { warnings.push_back(text); };
  const auto stream = open_libssh_stream(std::move(options));
  REQUIRE(stream.has_value());
  CHECK((*stream)->negotiated().cipher_out != "none");
  CHECK(warnings == std::vector<std::string>{"--ssh-security=integrity for backup-host: nobody has verified the host's "
                                             "key yet; the connection stays encrypted"});
}

TEST_CASE("a configuration that libssh reads itself cannot bring none into the login", "[transport]") {
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.config_file = shared_sshd().client_config("Ciphers none");
  // Either libssh does not know the name and passes over the line, or the server has no such cipher.
  const auto stream = open_libssh_stream(std::move(options));
  if (stream) CHECK((*stream)->negotiated().cipher_out != "none");
}

TEST_CASE("the remote shell gets the command as it was meant", "[transport]") {
  const std::string word = "a b'c\"d$(echo e)`f`\\g;*\n~h!";
  auto stream = open_libssh_stream(libssh_options(shared_sshd(), ssh::shell_command({"printf", "%s|", word, ""})));
  REQUIRE(stream.has_value());
  const auto said = read_all(**stream);
  REQUIRE(said.has_value());
  CHECK(as_text(*said) == word + "||");
}

TEST_CASE("a missing remote command: exit status and standard error", "[transport]") {
  std::mutex mutex;
  std::vector<std::string> lines;
  LibsshOptions options = libssh_options(shared_sshd(), "no-such-nbackup serve");
  options.on_stderr = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.emplace_back(line);
  };
  auto stream = open_libssh_stream(std::move(options));
  REQUIRE(stream.has_value());
  CHECK(read_all(**stream)->empty());
  const PeerEnd end = (*stream)->wait_end(20s);
  CHECK(end.exit_status == 127);
  CHECK(contains(end.stderr_tail, "no-such-nbackup"));
  const std::lock_guard lock(mutex);
  REQUIRE(lines.size() == 1);
  CHECK(contains(lines.front(), "no-such-nbackup"));
}

TEST_CASE("a remote command that a signal ended", "[transport]") {
  auto stream = open_libssh_stream(libssh_options(shared_sshd(), "kill -KILL $$"));
  REQUIRE(stream.has_value());
  CHECK(read_all(**stream)->empty());
  CHECK((*stream)->wait_end(20s).signal_name == "KILL");
}

TEST_CASE("writing to a remote command that has ended is connection_lost", "[transport]") {
  auto stream = open_libssh_stream(libssh_options(shared_sshd(), "exit 3"));
  REQUIRE(stream.has_value());
  const PeerEnd end = (*stream)->wait_end(20s);
  CHECK(end.exit_status == 3);
  const Status written = (*stream)->write(Bytes(1));
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::connection_lost);
}

TEST_CASE("a slow reader gets everything, in bounded memory", "[transport]") {
  const TempDir dir;
  const Bytes data = pattern(48 << 20);
  write_text_file(dir.path("data"), std::string(as_text(data)));
  auto stream = open_libssh_stream(libssh_options(shared_sshd(), ssh::shell_command({"cat", dir.path("data")})));
  REQUIRE(stream.has_value());
  // Slower than the sender, so that the ring fills up and the rest has to wait in libssh and behind its window.
  std::array<std::byte, 1000> piece{};
  std::size_t at = 0;
  while (true) {
    const auto got = (*stream)->read(piece, 60s);
    REQUIRE(got.has_value());
    if (*got == 0) break;
    bool same = true;
    for (std::size_t i = 0; i < *got; ++i) same = same && at + i < data.size() && piece[i] == data[at + i];
    REQUIRE(same);
    at += *got;
  }
  CHECK(at == data.size());
  CHECK((*stream)->wait_end(20s).ended_well());
}

TEST_CASE("an unknown host key is refused and explained", "[transport]") {
  const TempDir dir;
  const Error error = refused(with_known_hosts(dir, ""));
  CHECK(error.code == Errc::host_key);
  const std::string text = error.message();
  CHECK(contains(text, "backup-host:" + std::to_string(shared_sshd().port())));
  CHECK(contains(text, "ssh-ed25519"));
  CHECK(contains(text, server_fingerprint(shared_sshd())));
  CHECK(contains(text, dir.path("known_hosts")));
  CHECK(contains(text, "ssh-keyscan"));
  CHECK(read_text_file(dir.path("known_hosts")).empty());
}

TEST_CASE("a changed host key is refused louder, whatever the policy", "[transport]") {
  const TempDir dir;
  const std::string policy = GENERATE(as<std::string>{}, "", "true", "ask", "accept-new", "false");
  CAPTURE(policy);
  LibsshOptions options = policy.empty() ? with_known_hosts(dir, other_host_line(), "StrictHostKeyChecking no")
                                         : with_settings(dir, other_host_line(), policy);
  int asked = 0;
  options.prompt = [&](PromptKind, const std::string&) -> std::optional<std::string> {
    ++asked;
    return "yes";
  };
  const Error error = refused(std::move(options));
  CHECK(error.code == Errc::host_key);
  CHECK(contains(error.message(), "CHANGED"));
  CHECK(contains(error.message(), dir.path("known_hosts")));
  CHECK(asked == 0);
  CHECK(read_text_file(dir.path("known_hosts")) == other_host_line());
}

TEST_CASE("a revoked host key is refused, though another line knows it", "[transport]") {
  const TempDir dir;
  const std::string line = shared_sshd().known_hosts_line();
  const Error error = refused(with_known_hosts(dir, line + "@revoked " + line));
  CHECK(error.code == Errc::host_key);
  CHECK(contains(error.message(), "which is marked @revoked in " + dir.path("known_hosts")));
}

TEST_CASE("a person may accept an unknown key, once and for all", "[transport]") {
  const TempDir dir;
  std::vector<PromptKind> kinds;
  std::string asked;
  LibsshOptions options = with_known_hosts(dir, "");
  LibsshOptions without_prompt = options;
  options.prompt = [&](PromptKind kind, const std::string& text) -> std::optional<std::string> {
    kinds.push_back(kind);
    asked = text;
    return "yes";
  };
  REQUIRE(open_libssh_stream(std::move(options)).has_value());
  CHECK(kinds == std::vector{PromptKind::confirm});
  CHECK(contains(asked, server_fingerprint(shared_sshd())));
  CHECK(contains(read_text_file(dir.path("known_hosts")), "ssh-ed25519 "));
  CHECK(open_libssh_stream(std::move(without_prompt)).has_value());
}

TEST_CASE("anything but yes does not accept", "[transport]") {
  const TempDir dir;
  const auto answer =
      GENERATE(std::optional<std::string>{}, std::optional<std::string>{"no"}, std::optional<std::string>{""});
  LibsshOptions options = with_known_hosts(dir, "");
  options.prompt = [&](PromptKind, const std::string&) { return answer; };
  CHECK(refused(std::move(options)).code == Errc::host_key);
}

TEST_CASE("StrictHostKeyChecking decides about unknown keys", "[transport]") {
  const TempDir dir;
  for (const char* policy : {"accept-new", "false"}) {
    CAPTURE(policy);
    CHECK(open_libssh_stream(with_settings(dir, "", policy)).has_value());
    CHECK(contains(read_text_file(dir.path("known_hosts")), "ssh-ed25519 "));
  }
  LibsshOptions strict = with_settings(dir, "", "true");
  strict.prompt = [](PromptKind, const std::string&) { return std::optional<std::string>("yes"); };
  CHECK(refused(std::move(strict)).code == Errc::host_key);
  LibsshOptions batch = with_settings(dir, "", "ask");
  (*batch.settings)["batchmode"] = {"yes"};
  batch.prompt = [](PromptKind, const std::string&) { return std::optional<std::string>("yes"); };
  CHECK(refused(std::move(batch)).code == Errc::host_key);
}

TEST_CASE("a key file with a passphrase is asked for on a terminal only", "[transport]") {
  const TempDir dir;
  make_key(dir.path("locked"), "open sesame");
  shared_sshd().authorize(dir.path("locked.pub"));
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.config_file = shared_sshd().bare_client_config("IdentityFile " + dir.path("locked") +
                                                         "\nUserKnownHostsFile " + shared_sshd().known_hosts());
  LibsshOptions wrong = options;
  LibsshOptions silent = options;
  std::vector<PromptKind> kinds;
  options.prompt = [&](PromptKind kind, const std::string&) -> std::optional<std::string> {
    kinds.push_back(kind);
    return "open sesame";
  };
  CHECK(open_libssh_stream(std::move(options)).has_value());
  CHECK(kinds == std::vector{PromptKind::secret});
  wrong.prompt = [](PromptKind, const std::string&) { return std::optional<std::string>("wrong"); };
  CHECK(refused(std::move(wrong)).code == Errc::auth);
  CHECK(refused(std::move(silent)).code == Errc::auth);
}

TEST_CASE("no accepted key: the message says what the server offers", "[transport]") {
  const TempDir dir;
  make_key(dir.path("stranger"));
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.config_file = shared_sshd().bare_client_config("IdentityFile " + dir.path("stranger") +
                                                         "\nUserKnownHostsFile " + shared_sshd().known_hosts());
  const Error error = refused(std::move(options));
  CHECK(error.code == Errc::auth);
  CHECK(contains(error.message(), "publickey"));
}

TEST_CASE("identity files of the caller are used", "[transport]") {
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.config_file = shared_sshd().bare_client_config("UserKnownHostsFile " + shared_sshd().known_hosts());
  options.identity_files = {"/no/such/key", shared_sshd().user_key()};
  CHECK(open_libssh_stream(std::move(options)).has_value());
}

TEST_CASE("user and port of the caller win over the configuration", "[transport]") {
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.host.port = static_cast<std::uint16_t>(1);
  CHECK(refused(options).code == Errc::connect);
  options.host.port.reset();
  options.host.user = "no-such-user";
  const Error error = refused(std::move(options));
  CHECK(error.code == Errc::auth);
  CHECK(contains(error.message(), "no-such-user"));
}

TEST_CASE("nobody listens: connect; nobody answers: connect_timeout", "[transport]") {
  const LoopbackSocket listener;
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.host.port = listener.port;
  options.connect_timeout = 300ms;
  const Error closed = refused(options);
  CHECK(closed.code == Errc::connect);
  CHECK(contains(closed.message(), "backup-host:" + std::to_string(listener.port)));
  REQUIRE(::listen(listener.fd.get(), 5) == 0);
  CHECK(refused(options).code == Errc::connect_timeout);
}

TEST_CASE("a name that does not resolve is connect", "[transport]") {
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.config_file.reset();
  options.settings = ssh::EffectiveConfig{{"hostname", {"no-such-host.invalid"}}};
  CHECK(refused(std::move(options)).code == Errc::connect);
}

TEST_CASE("a connection that dies mid-way is connection_lost on both sides", "[transport]") {
  auto server = PrivateSshd::start();
  REQUIRE(server.has_value());
  auto stream = open_libssh_stream(libssh_options(**server, "cat"));
  REQUIRE(stream.has_value());
  std::byte one{};
  REQUIRE((*stream)->write({&one, 1}).has_value());
  REQUIRE((*stream)->read({&one, 1}, 20s) == 1U);
  Result<std::size_t> got = std::size_t{1};
  std::jthread reader([&] { got = (*stream)->read({&one, 1}, 0ms); });
  (*server)->kill_connections();
  reader.join();
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().code == Errc::connection_lost);
  const Status written = (*stream)->write(Bytes(16 << 20));
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::connection_lost);
  CHECK((*stream)->finish_writing().error().code == Errc::connection_lost);
  CHECK_FALSE((*stream)->wait_end(20s).ended());
}

TEST_CASE("a server that hangs holds nobody up", "[transport]") {
  auto server = PrivateSshd::start();
  REQUIRE(server.has_value());
  LibsshOptions options = libssh_options(**server, "cat");
  options.write_inactivity = 500ms;
  auto stream = open_libssh_stream(std::move(options));
  REQUIRE(stream.has_value());
  // Less than the channel's window, as of most links: libssh then waits in send(2).
  shrink_send_buffers((*server)->port());
  (*server)->stop_connections();
  const Status written = (*stream)->write(Bytes(64 << 20));
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::timeout);
  auto closed = std::async(std::launch::async, [&] { stream->reset(); });
  const bool in_time = closed.wait_for(30s) == std::future_status::ready;
  (*server)->kill_connections();  // or the test would hang with it
  CHECK(in_time);
}

TEST_CASE("a login without an answer is connect_timeout", "[transport]") {
  if (::geteuid() != 0) {
    WARN("sshd runs such a command for root only");
    return;
  }
  // sshd reads a fifo that nobody writes to, until it is killed.
  const TempDir dir;
  REQUIRE(::mkfifo(dir.path("fifo").c_str(), 0666) == 0);
  REQUIRE(::chmod(dir.path("").c_str(), 0755) == 0);
  auto server = PrivateSshd::start("AuthorizedKeysCommand /bin/cat " + dir.path("fifo") +
                                   "\nAuthorizedKeysCommandUser root\nAuthorizedKeysFile none\n");
  REQUIRE(server.has_value());
  LibsshOptions options = libssh_options(**server, "cat");
  options.connect_timeout = 1s;
#ifdef __SANITIZE_ADDRESS__
  const __lsan::ScopedDisabler forgets;  // libssh never frees the keys of a login that was given up
#endif
  CHECK(refused(std::move(options)).code == Errc::connect_timeout);
}

TEST_CASE("log lines of libssh go to the callback", "[transport]") {
  std::mutex mutex;
  std::string all;
  LibsshOptions options = libssh_options(shared_sshd(), "cat");
  options.verbosity = 3;
  options.on_log = [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    all += std::string(line) + "\n";
  };
  {
    auto stream = open_libssh_stream(std::move(options));
    REQUIRE(stream.has_value());
  }
  CHECK(contains(all, "ssh_connect"));
}

TEST_CASE("the window is what the round trip needs, within bounds", "[transport]") {
  using transport::channel_window_for;
  using transport::k_largest_window;
  using transport::k_smallest_window;
  CHECK(channel_window_for(0ns) == k_smallest_window);
  CHECK(channel_window_for(1ms) == k_smallest_window);
  CHECK(channel_window_for(20ms) == 8'000'000);
  CHECK(channel_window_for(41ms) == 16'400'000);
  CHECK(channel_window_for(60ms) == k_largest_window);
  CHECK(channel_window_for(std::chrono::hours(2000)) == k_largest_window);
}

TEST_CASE("transfers survive key exchanges in between", "[transport]") {
  auto server = PrivateSshd::start("RekeyLimit 1M");
  REQUIRE(server.has_value());
  auto stream = open_libssh_stream(libssh_options(**server, "cat"));
  REQUIRE(stream.has_value());
  const Bytes sent = pattern(24 << 20);
  Status written;
  std::jthread writer([&] {
    written = (*stream)->write(sent);
    if (written) written = (*stream)->finish_writing();
  });
  const auto received = read_all(**stream);
  writer.join();
  REQUIRE(written.has_value());
  REQUIRE(received.has_value());
  CHECK(*received == sent);
}

}  // namespace nb::test
