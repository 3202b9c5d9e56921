// SPDX-License-Identifier: Apache-2.0
// A TCP connection to a host by its name: to the first of its addresses that takes one, in the resolver's order.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace nb::transport {

struct TcpConnection {
  Fd fd;                              // non-blocking, close-on-exec, TCP_NODELAY
  std::chrono::microseconds took{0};  // to the address that took it
};

// `host` is a name or a number. Waits `limit` for each address; looking the name up takes what the resolver takes.
// Errc::connect or connect_timeout, with what the first address came to, or one that did not answer.
Result<TcpConnection> connect_tcp(const std::string& host, std::uint16_t port, std::chrono::milliseconds limit);

}  // namespace nb::transport
