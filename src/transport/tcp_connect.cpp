// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp_connect.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "transport/poll_wait.hpp"

namespace nb::transport {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> look_up(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (failed != 0) return fail(Errc::connect, host + ": " + ::gai_strerror(failed));
  return Addresses(list);
}

Status finish_connecting(int fd, Deadline deadline) {
  NB_TRY_ASSIGN(const Wake wake, wait_for(fd, POLLOUT, -1, deadline));
  if (wake == Wake::timed_out) return fail(Errc::connect_timeout, "connect");
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return fail_errno("getsockopt");
  return error == 0 ? Status() : fail(Errc::connect, "connect", error);
}

Result<Fd> connect_to(const addrinfo& address, Deadline deadline) {
  Fd fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return fail(Errc::connect, "socket", errno);  // a kernel without IPv6
  const int on = 1;
  // A speed-up only.
  static_cast<void>(::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) == 0) return fd;
  if (errno != EINPROGRESS) return fail(Errc::connect, "connect", errno);
  NB_TRY(finish_connecting(fd.get(), deadline));
  return fd;
}

}  // namespace

Result<TcpConnection> connect_tcp(const std::string& host, std::uint16_t port, std::chrono::milliseconds limit) {
  NB_TRY_ASSIGN(const Addresses addresses, look_up(host, port));
  std::optional<Error> why;
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    const auto begin = std::chrono::steady_clock::now();
    auto fd = connect_to(*address, deadline_after(limit, begin));
    const auto took = std::chrono::steady_clock::now() - begin;
    if (fd) return TcpConnection{std::move(*fd), std::chrono::duration_cast<std::chrono::microseconds>(took)};
    // Of several the first tells, but one that does not answer: the others are mostly those that this network has not.
    if (!why || fd.error().code == Errc::connect_timeout) why = std::move(fd).error();
  }
  return wrap(why.value_or(Error{Errc::connect, 0, "no address"}), host + " port " + std::to_string(port));
}

}  // namespace nb::transport
