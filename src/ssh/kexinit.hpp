// SPDX-License-Identifier: Apache-2.0
// What an SSH server offers, as it says itself in the first message of a connection, before anything is encrypted or
// anybody has logged in: SSH_MSG_KEXINIT, RFC 4253 section 7.1. Pure; transport/ssh_probe fetches it.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.hpp"

namespace nb::ssh {

// Names in the server's order. The lists of both directions are the same in every server we know; where they differ,
// only what is in both counts.
struct ServerAlgorithms {
  std::vector<std::string> kex;
  std::vector<std::string> host_keys;
  std::vector<std::string> ciphers;
  std::vector<std::string> macs;
  std::vector<std::string> compressions;
};

inline constexpr std::size_t k_max_packet_bytes = 35'000;  // what RFC 4253 section 6.1 asks every party to take

// `payload` of one packet. Errc::protocol for another message, a list that is cut short, or a name that is not plain
// printable US-ASCII (RFC 4251 section 6).
Result<ServerAlgorithms> parse_kexinit(ByteView payload);

}  // namespace nb::ssh
