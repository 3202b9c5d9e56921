// SPDX-License-Identifier: Apache-2.0
// Asking a real sshd what it offers, and what is no SSH server at all.
#include "transport/ssh_probe.hpp"

#include <algorithm>
#include <thread>

#include "support/loopback.hpp"
#include "support/private_sshd.hpp"

using namespace nb;
using namespace nb::transport;

namespace {

// Accepts one connection on a loopback port, says `text` and closes.
class Talker {
 public:
  explicit Talker(std::string text) {
    REQUIRE(::listen(m_listener.fd.get(), 1) == 0);
    m_thread = std::jthread([this, said = std::move(text)] {
      const Fd peer(::accept4(m_listener.fd.get(), nullptr, nullptr, SOCK_CLOEXEC));
      static_cast<void>(write_full(peer.get(), as_bytes(said)));
    });
  }
  [[nodiscard]] std::uint16_t port() const { return m_listener.port; }

 private:
  test::LoopbackSocket m_listener;
  std::jthread m_thread;
};

Result<ServerOffer> probe(std::uint16_t port) {
  ProbeOptions options;
  options.address = "127.0.0.1";
  options.port = port;
  return probe_server(options);
}

Errc refusal(const std::string& said) {
  const Talker talker(said);
  const auto offer = probe(talker.port());
  REQUIRE_FALSE(offer);
  return offer.error().code;
}

}  // namespace

TEST_CASE("sshd says what it is configured to offer", "[transport][ssh]") {
  const auto server = test::PrivateSshd::start(
      "Ciphers aes256-ctr,aes128-ctr\nMACs hmac-sha2-512\n"
      "KexAlgorithms curve25519-sha256\n");
  if (!server) {
    WARN("no sshd here: " << server.error().message());
    return;
  }
  const auto offer = probe((*server)->port());
  REQUIRE(offer);
  CHECK(offer->version.starts_with("SSH-2.0-OpenSSH"));
  CHECK(offer->algorithms.ciphers == std::vector<std::string>{"aes256-ctr", "aes128-ctr"});
  CHECK(offer->algorithms.macs == std::vector<std::string>{"hmac-sha2-512"});
  CHECK(offer->algorithms.kex.front() == "curve25519-sha256");
  CHECK(offer->algorithms.host_keys == std::vector<std::string>{"ssh-ed25519"});
}

TEST_CASE("what is no SSH server is told", "[transport]") {
  CHECK(refusal("220 mail.example ESMTP\r\n") == Errc::connection_lost);  // and closes
  CHECK(refusal(std::string(300, 'x')) == Errc::protocol);
  std::string talkative;
  for (int i = 0; i < 60; ++i) talkative += "hello\r\n";
  CHECK(refusal(talkative) == Errc::protocol);
  CHECK(refusal(std::string("SSH-2.0-x\r\n\xFF\xFF\xFF\xFF\x04", 16)) == Errc::protocol);  // no packet is so long
  CHECK(refusal(std::string("SSH-2.0-x\r\n\x00\x00\x00\x05\x04", 16)) == Errc::protocol);  // all padding
  CHECK(refusal(std::string("SSH-2.0-x\r\n\x00\x00\x00\x08\x04\x15..????", 23)) == Errc::protocol);  // another message
}

TEST_CASE("nobody there is an error of the connection", "[transport]") {
  ProbeOptions options;
  options.address = "127.0.0.1";
  options.port = 1;
  const auto offer = probe_server(options);
  REQUIRE_FALSE(offer);
  CHECK(offer.error().code == Errc::connect);
}
