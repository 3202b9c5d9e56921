// SPDX-License-Identifier: Apache-2.0
// Asks an SSH server what it offers: connects, exchanges versions and reads its first message, then leaves. Nobody logs
// in. The server notes it as a connection that was closed before authentication, and may hold that against the address
// for a moment (OpenSSH's PerSourcePenalties noauth): once in a run, not in a loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "ssh/kexinit.hpp"

namespace nb::transport {

struct ServerOffer {
  std::string version;  // "SSH-2.0-OpenSSH_9.2p1 Debian-2"
  ssh::ServerAlgorithms algorithms;
  std::chrono::microseconds tcp_connect{0};
};

struct ProbeOptions {
  std::string address;  // name or number, as the configuration resolves it (`ssh -G`: hostname)
  std::uint16_t port = 22;
  std::chrono::milliseconds limit{10000};  // for each address, and for each wait after it
};

// Errc::connect or connect_timeout where there is no connection, Errc::protocol where what answers is no SSH server.
Result<ServerOffer> probe_server(const ProbeOptions& options);

}  // namespace nb::transport
