// SPDX-License-Identifier: Apache-2.0
// What our build of libssh must refuse (nssh/libssh/03-none-rules.patch), whatever client and server propose: a server
// that begins a key exchange in clear, and the same proposal made by the client.
#include <libssh/libssh.h>

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/loopback.hpp"

namespace {

using nb::Fd;

struct SessionEnd {
  void operator()(ssh_session session) const { ssh_free(session); }
};
using Session = std::unique_ptr<ssh_session_struct, SessionEnd>;

bool knows_none(ssh_session session) { return ssh_options_set(session, SSH_OPTIONS_CIPHERS_C_S, "none") == SSH_OK; }

void append_u32(std::string& out, std::size_t value) {
  for (const int shift : {24, 16, 8, 0}) out.push_back(static_cast<char>(value >> shift & 0xff));
}

// RFC 4253, sections 6 and 7.1: an unencrypted KEXINIT packet.
std::string kexinit(const std::string& cipher, const std::string& mac) {
  std::string payload(1, '\x14');
  payload.append(16, 'c');
  const std::vector<std::string> lists{
      "curve25519-sha256", "ssh-ed25519", cipher, cipher, mac, mac, "none", "none", "", ""};
  for (const std::string& list : lists) {
    append_u32(payload, list.size());
    payload += list;
  }
  payload.append(5, '\0');
  const std::size_t padding = 4 + (8 - (payload.size() + 5 + 4) % 8) % 8;
  std::string packet;
  append_u32(packet, 1 + payload.size() + padding);
  packet.push_back(static_cast<char>(padding));
  return packet + payload + std::string(padding, '\0');
}

// Greets one client with its proposal, then reads until the client goes.
class Server {
 public:
  explicit Server(std::string words) : m_words(std::move(words)) {
    REQUIRE(::listen(m_listener.fd.get(), 1) == 0);
    m_thread = std::thread([this] { serve(); });
  }
  ~Server() {
    ::shutdown(m_listener.fd.get(), SHUT_RDWR);
    m_thread.join();
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] unsigned port() const { return m_listener.port; }

 private:
  void serve() {
    const Fd client(::accept(m_listener.fd.get(), nullptr, nullptr));
    if (::send(client.get(), m_words.data(), m_words.size(), MSG_NOSIGNAL) < 0) return;
    char block[1024];
    while (::recv(client.get(), block, sizeof block, 0) > 0) continue;
  }

  std::string m_words;
  nb::test::LoopbackSocket m_listener;
  std::thread m_thread;
};

// Why the connection failed, where both sides propose these for a first key exchange.
std::string refusal(ssh_session session, const char* cipher, const char* mac) {
  const Server server("SSH-2.0-test\r\n" + kexinit(cipher, mac));
  const unsigned port = server.port();
  const bool no_files = false;
  REQUIRE(ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no_files) == SSH_OK);
  REQUIRE(ssh_options_set(session, SSH_OPTIONS_HOST, "127.0.0.1") == SSH_OK);
  REQUIRE(ssh_options_set(session, SSH_OPTIONS_PORT, &port) == SSH_OK);
  REQUIRE(ssh_options_set(session, SSH_OPTIONS_CIPHERS_C_S, cipher) == SSH_OK);
  REQUIRE(ssh_options_set(session, SSH_OPTIONS_CIPHERS_S_C, cipher) == SSH_OK);
  REQUIRE(ssh_options_set(session, SSH_OPTIONS_HMAC_C_S, mac) == SSH_OK);
  REQUIRE(ssh_options_set(session, SSH_OPTIONS_HMAC_S_C, mac) == SSH_OK);
  REQUIRE(ssh_connect(session) == SSH_ERROR);
  std::string reason = ssh_get_error(session);
  ssh_disconnect(session);
  return reason;
}

}  // namespace

TEST_CASE("libssh starts no session with cipher none, and none with a cipher but no MAC", "[transport]") {
  const Session session(ssh_new());
  REQUIRE(session != nullptr);
  if (!knows_none(session.get())) {
    WARN("skipped: the linked libssh has no cipher none (nssh/build-libssh makes one that has)");
    return;
  }
  using Catch::Matchers::Contains;
  SECTION("no cipher, a MAC") {
    CHECK_THAT(refusal(session.get(), "none", "umac-64-etm@openssh.com"),
               Contains("cipher none before authentication"));
  }
  SECTION("neither") {
    CHECK_THAT(refusal(session.get(), "none", "none"), Contains("cipher none before authentication"));
  }
  SECTION("a cipher that authenticates nothing, no MAC") {
    CHECK_THAT(refusal(session.get(), "aes128-ctr", "none"), Contains("no MAC with cipher aes128-ctr"));
  }
}
