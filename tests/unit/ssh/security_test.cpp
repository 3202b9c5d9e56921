// SPDX-License-Identifier: Apache-2.0
// What is asked for after the login, and what may come of it. The table of what is allowed is walked in full.
#include "ssh/security.hpp"

#include <catch2/catch.hpp>

#include "base/errc.hpp"

namespace nb::test {
namespace {

using ssh::HostKeyTrust;
using ssh::Security;

constexpr const char* k_gcm = "aes128-gcm@openssh.com";
constexpr const char* k_umac = "umac-64-etm@openssh.com";

ssh::Negotiated link(const std::string& cipher, const std::string& mac) {
  ssh::Negotiated made;
  made.kex = "curve25519-sha256";
  made.host_key_type = "ssh-ed25519";
  made.cipher_in = made.cipher_out = cipher;
  made.mac_in = made.mac_out = mac;
  return made;
}

ssh::SwitchRequest request(Security security) {
  return {security, HostKeyTrust::verified, link(k_gcm, ""), {k_umac, "hmac-sha2-256"}};
}

ssh::AlgorithmNames able() {
  return {{k_gcm, "aes128-ctr", "none"}, {k_umac, "hmac-sha2-256", "hmac-sha1", "none"}, {}};
}

}  // namespace

TEST_CASE("integrity asks for cipher none with a real MAC, off for both", "[ssh]") {
  const auto integrity = ssh::plan_switch(request(Security::integrity), able());
  REQUIRE(integrity.lists.has_value());
  CHECK(integrity.obstacle.empty());
  CHECK(integrity.lists->ciphers_in == std::string("none,") + k_gcm);
  CHECK(integrity.lists->ciphers_out == std::string("none,") + k_gcm);
  CHECK(integrity.lists->macs == std::string(k_umac) + ",hmac-sha2-256");
  const auto off = ssh::plan_switch(request(Security::off), able());
  REQUIRE(off.lists.has_value());
  CHECK(off.lists->macs == std::string("none,") + k_umac + ",hmac-sha2-256");
  const auto nothing = ssh::plan_switch(request(Security::encrypted), able());
  CHECK_FALSE(nothing.lists.has_value());
  CHECK(nothing.obstacle.empty());
}

TEST_CASE("what is used already stays as the last resort, each direction by itself", "[ssh]") {
  auto asked = request(Security::integrity);
  asked.before = link("aes128-ctr", "hmac-sha1");
  asked.before.cipher_in = k_gcm;
  asked.before.mac_in = "";
  const auto plan = ssh::plan_switch(asked, able());
  REQUIRE(plan.lists.has_value());
  CHECK(plan.lists->ciphers_out == "none,aes128-ctr");
  CHECK(plan.lists->ciphers_in == std::string("none,") + k_gcm);
  CHECK(plan.lists->macs == std::string(k_umac) + ",hmac-sha2-256,hmac-sha1");
}

TEST_CASE("nothing changes without the means or without a verified host key", "[ssh]") {
  for (const Security security : {Security::integrity, Security::off}) {
    auto known = able();
    known.ciphers.pop_back();
    CHECK_FALSE(ssh::plan_switch(request(security), known).lists.has_value());
    CHECK(ssh::plan_switch(request(security), known).obstacle == "this program's libssh has no cipher none");
    auto unseen = request(security);
    unseen.trust = HostKeyTrust::unverified;
    CHECK_FALSE(ssh::plan_switch(unseen, able()).lists.has_value());
    CHECK(ssh::plan_switch(unseen, able()).obstacle == "nobody has verified the host's key yet");
    auto odd = request(security);
    odd.macs = {"no-such-mac"};
    CHECK_FALSE(ssh::plan_switch(odd, able()).lists.has_value());
  }
  auto known = able();
  known.macs.pop_back();
  CHECK_FALSE(ssh::plan_switch(request(Security::off), known).lists.has_value());
  CHECK(ssh::plan_switch(request(Security::integrity), known).lists.has_value());
}

TEST_CASE("what each policy allows", "[ssh]") {
  struct Row {
    const char* cipher;
    const char* mac;
    bool encrypted;
    bool integrity;
    bool off;
  };
  const auto row = GENERATE(values<Row>({
      {k_gcm, "", true, true, true},
      {"chacha20-poly1305@openssh.com", "none", true, true, true},
      {"aes128-ctr", "hmac-sha2-256", true, true, true},
      {"aes128-ctr", "none", false, false, false},
      {"aes128-ctr", "", false, false, false},
      {"none", k_umac, false, true, true},
      {"none", "none", false, false, true},
      {"none", "", false, false, true},
      {"", "", false, false, false},
  }));
  CAPTURE(row.cipher, row.mac);
  CHECK(ssh::check_allowed(link(row.cipher, row.mac), Security::encrypted).has_value() == row.encrypted);
  CHECK(ssh::check_allowed(link(row.cipher, row.mac), Security::integrity).has_value() == row.integrity);
  CHECK(ssh::check_allowed(link(row.cipher, row.mac), Security::off).has_value() == row.off);
}

TEST_CASE("both directions are looked at, and the refusal names the one", "[ssh]") {
  auto half = link(k_gcm, "");
  half.cipher_in = "none";
  half.mac_in = k_umac;
  const auto refused = ssh::check_allowed(half, Security::encrypted);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::insecure);
  CHECK(refused.error().context.find("received") != std::string::npos);
  CHECK(ssh::check_allowed(half, Security::integrity).has_value());
  std::swap(half.cipher_in, half.cipher_out);
  std::swap(half.mac_in, half.mac_out);
  CHECK(ssh::check_allowed(half, Security::encrypted).error().context.find("sent") != std::string::npos);
}

TEST_CASE("the weaker direction says how secure a connection is", "[ssh]") {
  CHECK(ssh::security_of(link(k_gcm, "")) == Security::encrypted);
  CHECK(ssh::security_of(link("none", k_umac)) == Security::integrity);
  CHECK(ssh::security_of(link("none", "none")) == Security::off);
  auto mixed = link(k_gcm, "");
  mixed.cipher_in = "none";
  mixed.mac_in = k_umac;
  CHECK(ssh::security_of(mixed) == Security::integrity);
  mixed.mac_in = "";
  CHECK(ssh::security_of(mixed) == Security::off);
}

TEST_CASE("what is missing is said", "[ssh]") {
  CHECK(ssh::shortfall(link(k_gcm, ""), Security::encrypted).empty());
  CHECK(ssh::shortfall(link(k_gcm, ""), Security::integrity) ==
        "the server offers no cipher none; the connection stays encrypted");
  ssh::Negotiated one_way = link("none", k_umac);
  one_way.cipher_in = k_gcm;
  CHECK(ssh::shortfall(one_way, Security::integrity) ==
        "the server has cipher none one way only: what is sent is readable, what is received stays encrypted");
  CHECK(ssh::shortfall(link("none", k_umac), Security::integrity).empty());
  CHECK(ssh::shortfall(link("none", k_umac), Security::off) ==
        "the server offers no MAC none; the connection keeps umac-64-etm@openssh.com");
  CHECK(ssh::shortfall(link("none", "none"), Security::off).empty());
}

TEST_CASE("names of policies and of what was negotiated", "[ssh]") {
  for (const Security security : {Security::encrypted, Security::integrity, Security::off}) {
    CHECK(ssh::security_from_name(ssh::security_name(security)) == security);
  }
  CHECK_FALSE(ssh::security_from_name("none").has_value());
  CHECK_FALSE(ssh::security_from_name("").has_value());
  CHECK(ssh::describe(link(k_gcm, "")) == "curve25519-sha256, ssh-ed25519, aes128-gcm@openssh.com");
  auto mixed = link("none", k_umac);
  mixed.cipher_in = "aes128-ctr";
  CHECK(ssh::describe(mixed) == "curve25519-sha256, ssh-ed25519, none/aes128-ctr, umac-64-etm@openssh.com");
}

}  // namespace nb::test
