// SPDX-License-Identifier: Apache-2.0
// How far an SSH connection may go without encryption, and the change to `none` after the login that it takes: what is
// asked for in the second key exchange, and whether what came of it is allowed. User authentication is always
// encrypted. transport/ carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ssh/algorithms.hpp"

namespace nb::ssh {

// Each allows what those before it allow too.
enum class Security : std::uint8_t {
  encrypted,
  integrity,  // cipher none with a MAC: readable on the wire, not forgeable
  off,        // cipher none and MAC none: an active attacker can change what is sent
};

// "encrypted", "integrity", "off".
std::string_view security_name(Security security);
std::optional<Security> security_from_name(std::string_view name);

// What a key exchange came to. Empty: nothing of the kind, or the library does not say.
struct Negotiated {
  std::string kex;
  std::string host_key_type;
  std::string cipher_in;  // from the server
  std::string cipher_out;
  std::string mac_in;  // empty for a cipher that authenticates itself
  std::string mac_out;
  std::string compression;  // of both directions; "zlib@openssh.com or none" where only the server knows
  std::string server_version;

  friend bool operator==(const Negotiated&, const Negotiated&) = default;
};

// "curve25519-sha256, ssh-ed25519, aes128-gcm@openssh.com": key exchange, host key, cipher and MAC; where the
// directions differ, "sent/received".
std::string describe(const Negotiated& negotiated);

// verified: known before, or accepted by a person now. unverified: taken without a look (StrictHostKeyChecking no or
// accept-new, at the first meeting).
enum class HostKeyTrust : std::uint8_t { verified, unverified };

struct SwitchRequest {
  Security security = Security::encrypted;
  HostKeyTrust trust = HostKeyTrust::unverified;
  Negotiated before;              // the first key exchange
  std::vector<std::string> macs;  // in the wanted order, without `none`
};

// For the second key exchange. Each has what is used now as its last resort.
struct SwitchLists {
  std::string ciphers_in;
  std::string ciphers_out;
  std::string macs;
};

struct SwitchPlan {
  std::optional<SwitchLists> lists;  // unset: there is nothing to change, or it must not be
  std::string obstacle;              // why it must not be; empty for Security::encrypted
};

// `known`: what the linked library has, `none` included where it has that.
SwitchPlan plan_switch(const SwitchRequest& request, const AlgorithmNames& known);

// Errc::insecure unless this is allowed: cipher none under Security::encrypted, MAC none with a real cipher that does
// not authenticate itself (whatever is allowed), MAC none under anything but Security::off. A direction of which
// nothing is known is not allowed.
Status check_allowed(const Negotiated& negotiated, Security allowed);

// What holds for the weaker direction.
Security security_of(const Negotiated& negotiated);

// What was asked for and is not there, for a person ("the server offers no cipher none; the connection
// stays encrypted"); empty where all of it is.
std::string shortfall(const Negotiated& negotiated, Security asked);

}  // namespace nb::ssh
