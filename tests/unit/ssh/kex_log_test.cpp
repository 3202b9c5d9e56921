// SPDX-License-Identifier: Apache-2.0
#include "ssh/kex_log.hpp"

#include <catch2/catch.hpp>

namespace nb::test {
namespace {

using ssh::KexLog;
using ssh::Negotiated;

// As OpenSSH 9.2 and 10.0 write them.
constexpr const char* k_old = "debug1: kex.c:choose_kex():929 (pid=18630): kex: ";
constexpr const char* k_new = "debug1: kex.c:kex_choose_conf():1091 (bin=ssh, pid=18630): kex: ";
constexpr const char* k_foreign = "debug1: kex.c:choose_kex():929 (pid=18631): kex: ";

void take_exchange(KexLog& log, const char* place, const std::string& in, const std::string& out) {
  CHECK(log.take(std::string(place) + "algorithm: curve25519-sha256"));
  CHECK(log.take(std::string(place) + "host key algorithm: ssh-ed25519"));
  CHECK(log.take(std::string(place) + "server->client cipher: " + in));
  CHECK(log.take(std::string(place) + "client->server cipher: " + out));
}

}  // namespace

TEST_CASE("a key exchange is read from the log of an ssh program", "[ssh]") {
  for (const char* place : {k_old, k_new}) {
    KexLog log;
    CHECK_FALSE(log.latest().has_value());
    take_exchange(log, place, "aes128-gcm@openssh.com MAC: <implicit> compression: none",
                  "aes128-ctr MAC: umac-64-etm@openssh.com compression: none");
    Negotiated expected;
    expected.kex = "curve25519-sha256";
    expected.host_key_type = "ssh-ed25519";
    expected.cipher_in = "aes128-gcm@openssh.com";
    expected.cipher_out = "aes128-ctr";
    expected.mac_out = "umac-64-etm@openssh.com";
    expected.compression = "none";
    CHECK(log.latest() == expected);
  }
}

TEST_CASE("the last whole key exchange counts", "[ssh]") {
  KexLog log;
  take_exchange(log, k_old, "aes128-ctr MAC: hmac-sha2-256 compression: none",
                "aes128-ctr MAC: hmac-sha2-256 compression: none");
  take_exchange(log, k_old, "none MAC: umac-64-etm@openssh.com compression: none",
                "none MAC: umac-64-etm@openssh.com compression: zlib@openssh.com");
  REQUIRE(log.latest().has_value());
  CHECK(log.latest()->cipher_in == "none");
  CHECK(log.latest()->cipher_out == "none");
  CHECK(log.latest()->compression == "zlib@openssh.com/none");
  CHECK(log.take(std::string(k_old) + "algorithm: mlkem768x25519-sha256"));
  CHECK(log.latest()->kex == "curve25519-sha256");
}

TEST_CASE("what another process writes is no part of the log, and is bounded by nothing but its lines", "[ssh]") {
  KexLog log;
  const std::string none = "none MAC: none compression: none";
  take_exchange(log, k_old, "aes128-ctr MAC: hmac-sha2-256 compression: none",
                "aes128-ctr MAC: hmac-sha2-256 compression: none");
  for (const char* what :
       {"algorithm: x", "host key algorithm: x", "server->client cipher: none MAC: none compression: none"}) {
    CHECK_FALSE(log.take(k_foreign + std::string(what)));
  }
  CHECK_FALSE(log.take(k_foreign + ("client->server cipher: " + none)));
  CHECK(log.latest()->cipher_in == "aes128-ctr");
  for (int i = 0; i < 1000; ++i) {
    log.take(std::string(k_old) + "server->client cipher: a MAC: b compression: " + std::to_string(i));
  }
  take_exchange(log, k_old, none, none);
  CHECK(log.latest()->compression == "none");
}

TEST_CASE("other lines are left alone, and odd ones of the log say nothing", "[ssh]") {
  KexLog log;
  for (const char* line :
       {"", "debug", "debug1: ", "err", "debug1: kex: algorithm: x", "kex.c: (pid=1): kex: algorithm: x",
        "debugx: kex.c:f():1 (pid=1): kex: algorithm: x", "debug1: kex.c:", "debug1: kex.c:): ( x",
        "debug1: kex.c:f():1 kex: algorithm: x", "remote: debug1: kex.c:f():1 (pid=1): kex: "}) {
    CHECK_FALSE(log.take(line));
  }
  for (const char* rest :
       {"kex.c:kex_choose_conf():1002 (pid=1): local client KEXINIT proposal",
        "kex.c:f():1 (pid=1): kex: server->client cipher: ", "kex.c:f():1 (pid=1): kex: ",
        "kex.c:f():1 (pid=1): kex: client->server cipher: a MAC: b compression: c d",
        "kex.c:f():1 (pid=1): kex: algorithm: a", "kex.c:f():1 (pid=1): kex: host key algorithm: b"}) {
    CHECK(log.take("debug2: " + std::string(rest)));
  }
  CHECK_FALSE(log.latest().has_value());
}

TEST_CASE("a program is asked that knows how to tell, and not where the user asked for a log", "[ssh]") {
  using Config = ssh::EffectiveConfig;
  CHECK(ssh::can_log_kex(Config{{"loglevel", {"INFO"}}, {"logverbose", {"none"}}}));
  CHECK_FALSE(ssh::can_log_kex(Config{{"loglevel", {"INFO"}}}));
  CHECK_FALSE(ssh::can_log_kex(Config{{"loglevel", {"DEBUG1"}}, {"logverbose", {"none"}}}));
  CHECK_FALSE(ssh::can_log_kex(Config{{"loglevel", {"INFO"}}, {"logverbose", {"packet.c:*"}}}));
}

}  // namespace nb::test
