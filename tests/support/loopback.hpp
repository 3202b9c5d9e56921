// SPDX-License-Identifier: Apache-2.0
// A TCP socket on a free port of the loopback interface, for tests that are a server of their own. It does not listen
// yet.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <cstdint>

#include "base/fd.hpp"

namespace nb::test {

struct LoopbackSocket {
  Fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;

  LoopbackSocket() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    REQUIRE(::bind(fd.get(), generic, size) == 0);
    REQUIRE(::getsockname(fd.get(), generic, &size) == 0);
    port = ntohs(address.sin_port);
  }
};

}  // namespace nb::test
