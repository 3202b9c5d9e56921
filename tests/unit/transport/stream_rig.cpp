// SPDX-License-Identifier: Apache-2.0
#include "stream_rig.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

#include "transport/fd_stream.hpp"
#include "transport/process_stream.hpp"

namespace nb::test {
namespace {

using namespace std::chrono_literals;

struct Ends {
  Fd first;
  Fd second;
};

Ends make_pipe() {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

Ends make_sockets() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

void echo(Fd in, Fd out) {
  std::vector<std::byte> buffer(65536);
  while (true) {
    const ssize_t n = ::read(in.get(), buffer.data(), buffer.size());
    if (n <= 0) return;
    if (!write_full(out.get(), std::span(buffer).first(static_cast<std::size_t>(n)))) return;
  }
}

void start_echo(EchoRig& rig, Fd in, Fd out) {
  rig.echo = std::make_unique<std::jthread>(
      [in = std::move(in), out = std::move(out)]() mutable { echo(std::move(in), std::move(out)); });
}

template <class T>
std::unique_ptr<transport::ByteStream> require(Result<T> opened) {
  INFO((opened ? std::string() : opened.error().message()));
  REQUIRE(opened.has_value());
  return std::move(opened).value();
}

EchoRig over_pipes(transport::FdStreamOptions options) {
  Ends to_peer = make_pipe();
  Ends to_us = make_pipe();
  EchoRig rig;
  rig.stream = require(transport::open_fd_stream(std::move(to_us.first), std::move(to_peer.second), options));
  start_echo(rig, std::move(to_peer.first), std::move(to_us.second));
  return rig;
}

EchoRig over_socket(transport::FdStreamOptions options) {
  Ends pair = make_sockets();
  EchoRig rig;
  rig.stream = require(transport::open_socket_stream(std::move(pair.first), options));
  Fd second(::fcntl(pair.second.get(), F_DUPFD_CLOEXEC, 0));
  start_echo(rig, std::move(pair.second), std::move(second));
  return rig;
}

}  // namespace

PrivateSshd& shared_sshd() {
  static const std::unique_ptr<PrivateSshd> server = [] {
    ::unsetenv("SSH_AUTH_SOCK");  // the developer's agent is none of ours
    auto started = PrivateSshd::start();
    INFO((started ? std::string() : started.error().message()));
    REQUIRE(started.has_value());
    return std::move(started).value();
  }();
  return *server;
}

transport::LibsshOptions libssh_options(const PrivateSshd& server, const std::string& command) {
  transport::LibsshOptions options;
  options.host.name = "backup-host";
  options.command = command;
  options.config_file = server.client_config();
  options.connect_timeout = 20s;
  return options;
}

EchoRig make_echo(const std::string& kind, std::chrono::milliseconds write_inactivity, const std::string& command) {
  EchoRig rig;
  if (kind == "pipes") return over_pipes({write_inactivity, kind});
  if (kind == "socket") return over_socket({write_inactivity, kind});
  if (kind == "process") {
    transport::ProcessOptions options;
    options.argv = {"sh", "-c", command};
    options.write_inactivity = write_inactivity;
    rig.stream = require(transport::open_process_stream(std::move(options)));
    return rig;
  }
  transport::LibsshOptions options = libssh_options(shared_sshd(), command);
  options.write_inactivity = write_inactivity;
  rig.stream = require(transport::open_libssh_stream(std::move(options)));
  return rig;
}

Bytes pattern(std::size_t size) {
  Bytes data(size);
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (std::size_t i = 0; i < size; ++i) {
    state = state * 6364136223846793005 + 1442695040888963407;
    data[i] = static_cast<std::byte>(state >> 56);
  }
  return data;
}

Result<Bytes> read_all(transport::ByteStream& stream, std::size_t limit) {
  Bytes all;
  Bytes piece(1 << 16);
  while (all.size() < limit) {
    NB_TRY_ASSIGN(const std::size_t got, stream.read(std::span(piece).first(std::min(piece.size(), limit - all.size())),
                                                     std::chrono::seconds(60)));
    if (got == 0) break;
    all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return all;
}

}  // namespace nb::test
