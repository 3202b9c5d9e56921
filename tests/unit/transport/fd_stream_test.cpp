// SPDX-License-Identifier: Apache-2.0
// What only a stream over descriptors has; the rest is in the contract suite.
#include "transport/fd_stream.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>

namespace nb::transport {
namespace {

using namespace std::chrono_literals;

struct Pipe {
  Fd read_end;
  Fd write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

TEST_CASE("pipes are enlarged and get their flags back", "[transport]") {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  const Fd kept(::fcntl(out.write_end.get(), F_DUPFD_CLOEXEC, 0));
  const int size_before = ::fcntl(kept.get(), F_GETPIPE_SZ);
  {
    auto stream = open_fd_stream(std::move(in.read_end), std::move(out.write_end));
    REQUIRE(stream.has_value());
    CHECK((::fcntl(kept.get(), F_GETFL) & O_NONBLOCK) != 0);
    CHECK(::fcntl(kept.get(), F_GETPIPE_SZ) >= size_before);
  }
  CHECK((::fcntl(kept.get(), F_GETFL) & O_NONBLOCK) == 0);
}

TEST_CASE("a reader that went away is connection_lost, not a signal", "[transport]") {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  auto stream = open_fd_stream(std::move(in.read_end), std::move(out.write_end));
  REQUIRE(stream.has_value());
  out.read_end.reset();
  const Status written = (*stream)->write(Bytes(1));
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::connection_lost);
  CHECK(written.error().sys_errno == EPIPE);
}

TEST_CASE("descriptors that are none are refused", "[transport]") {
  Pipe out = make_pipe();
  CHECK_FALSE(open_fd_stream(Fd(), std::move(out.write_end)).has_value());
  CHECK_FALSE(open_socket_stream(Fd()).has_value());
}

TEST_CASE("there is no program behind descriptors", "[transport]") {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  auto stream = open_fd_stream(std::move(in.read_end), std::move(out.write_end), {0ms, "standard input and output"});
  REQUIRE(stream.has_value());
  CHECK_FALSE((*stream)->wait_end(0ms).ended());
  CHECK((*stream)->describe() == "standard input and output");
}

}  // namespace nb::transport
