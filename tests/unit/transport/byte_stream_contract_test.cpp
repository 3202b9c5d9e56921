// SPDX-License-Identifier: Apache-2.0
// The contract of ByteStream, on every implementation, against a peer that echoes.
#include <catch2/catch.hpp>
#include <latch>
#include <thread>

#include "stream_rig.hpp"

namespace nb::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t k_large = 64 << 20;

#define NB_KINDS GENERATE(as<std::string>{}, "socket", "pipes", "process", "libssh")

}  // namespace

TEST_CASE("64 MiB come back while they are sent, and then the end", "[transport]") {
  const std::string kind = NB_KINDS;
  CAPTURE(kind);
  EchoRig rig = make_echo(kind);
  const Bytes sent = pattern(k_large);
  Status written;
  std::jthread writer([&] {
    // Sizes that fit no buffer, packet or ring evenly.
    ByteView rest = sent;
    for (std::size_t size = 1; !rest.empty() && written; size = size * 7 % 1'000'003 + 1) {
      written = rig.stream->write(rest.first(std::min(size, rest.size())));
      rest = rest.subspan(std::min(size, rest.size()));
    }
    if (written) written = rig.stream->finish_writing();
  });
  const auto received = read_all(*rig.stream);
  writer.join();
  REQUIRE(written.has_value());
  REQUIRE(received.has_value());
  CHECK(received->size() == sent.size());
  CHECK(*received == sent);
  std::byte one{};
  CHECK(rig.stream->read({&one, 1}, 1s) == 0U);
  CHECK(rig.stream->read({&one, 1}, 1s) == 0U);
}

TEST_CASE("a single byte goes out at once and comes back", "[transport]") {
  const std::string kind = NB_KINDS;
  CAPTURE(kind);
  EchoRig rig = make_echo(kind);
  for (int i = 0; i < 200; ++i) {
    const auto out = static_cast<std::byte>(i);
    REQUIRE(rig.stream->write({&out, 1}).has_value());
    std::byte in{};
    REQUIRE(rig.stream->read({&in, 1}, 20s) == 1U);
    REQUIRE(in == out);
  }
}

TEST_CASE("what arrived before the peer's end is read before the end", "[transport]") {
  const std::string kind = NB_KINDS;
  CAPTURE(kind);
  EchoRig rig = make_echo(kind);
  const Bytes sent = pattern(30'000);
  REQUIRE(rig.stream->write(sent).has_value());
  REQUIRE(rig.stream->finish_writing().has_value());
  CHECK(rig.stream->finish_writing().has_value());
  static_cast<void>(rig.stream->wait_end(200ms));
  const auto received = read_all(*rig.stream);
  REQUIRE(received.has_value());
  CHECK(*received == sent);
}

TEST_CASE("a silent peer is a timeout, and the stream stays usable", "[transport]") {
  const std::string kind = NB_KINDS;
  CAPTURE(kind);
  EchoRig rig = make_echo(kind);
  std::byte one{};
  const auto before = std::chrono::steady_clock::now();
  const auto silent = rig.stream->read({&one, 1}, 150ms);
  REQUIRE_FALSE(silent.has_value());
  CHECK(silent.error().code == Errc::timeout);
  CHECK(std::chrono::steady_clock::now() - before >= 150ms);
  one = std::byte{7};
  REQUIRE(rig.stream->write({&one, 1}).has_value());
  CHECK(rig.stream->read({&one, 1}, 20s) == 1U);
}

TEST_CASE("a peer that takes nothing is a timeout of write", "[transport]") {
  const std::string kind = NB_KINDS;
  CAPTURE(kind);
  EchoRig rig = make_echo(kind, 300ms);
  // Nobody reads the echo, so that the peer blocks in writing it.
  const Status written = rig.stream->write(Bytes(k_large));
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::timeout);
}

TEST_CASE("a peer that takes nothing and says something is waited for", "[transport]") {
  const std::string kind = GENERATE(as<std::string>{}, "process", "libssh");
  CAPTURE(kind);
  const std::string busy = "i=0; while [ $i -lt 30 ]; do echo; sleep 0.1; i=$((i+1)); done; exec cat > /dev/null";
  EchoRig rig = make_echo(kind, 1s, busy);
  std::byte first{};
  REQUIRE(rig.stream->read({&first, 1}, 20s) == 1U);
  Result<Bytes> rest;
  std::jthread reader([&] { rest = read_all(*rig.stream); });
  const Status written = rig.stream->write(Bytes(k_large));
  const Status finished = rig.stream->finish_writing();
  reader.join();
  INFO((written ? std::string() : written.error().message()));
  CHECK(written.has_value());
  CHECK(finished.has_value());
  REQUIRE(rest.has_value());
  CHECK(rest->size() == 29);
}

TEST_CASE("close_now wakes a blocked read", "[transport]") {
  const std::string kind = NB_KINDS;
  CAPTURE(kind);
  EchoRig rig = make_echo(kind);
  std::latch reading(1);
  Result<std::size_t> got = std::size_t{1};
  std::jthread reader([&] {
    std::byte one{};
    reading.count_down();
    got = rig.stream->read({&one, 1}, 0ms);
  });
  reading.wait();
  rig.stream->close_now();
  reader.join();
  REQUIRE_FALSE(got.has_value());
  CHECK(got.error().code == Errc::connection_lost);
}

TEST_CASE("close_now wakes a blocked write", "[transport]") {
  const std::string kind = NB_KINDS;
  CAPTURE(kind);
  EchoRig rig = make_echo(kind);
  Status written;
  std::jthread writer([&] { written = rig.stream->write(Bytes(k_large)); });
  // The first byte of the echo says that the writer is at it; nobody reads the rest.
  std::byte one{};
  REQUIRE(rig.stream->read({&one, 1}, 20s) == 1U);
  rig.stream->close_now();
  writer.join();
  REQUIRE_FALSE(written.has_value());
  CHECK(written.error().code == Errc::connection_lost);
}

TEST_CASE("after close_now everything is connection_lost", "[transport]") {
  const std::string kind = NB_KINDS;
  CAPTURE(kind);
  EchoRig rig = make_echo(kind);
  rig.stream->close_now();
  rig.stream->close_now();
  std::byte one{};
  CHECK(rig.stream->read({&one, 1}, 1s).error().code == Errc::connection_lost);
  CHECK(rig.stream->write({&one, 1}).error().code == Errc::connection_lost);
  CHECK(rig.stream->finish_writing().error().code == Errc::connection_lost);
}

TEST_CASE("a program behind the stream ends with the half-close and tells how", "[transport]") {
  const std::string kind = GENERATE(as<std::string>{}, "process", "libssh");
  CAPTURE(kind);
  EchoRig rig = make_echo(kind);
  CHECK_FALSE(rig.stream->wait_end(10ms).ended());
  REQUIRE(rig.stream->finish_writing().has_value());
  std::byte one{};
  CHECK(rig.stream->read({&one, 1}, 20s) == 0U);
  const transport::PeerEnd end = rig.stream->wait_end(20s);
  CHECK(end.ended_well());
  CHECK(end.signal_name.empty());
  CHECK(end.stderr_tail.empty());
}

}  // namespace nb::test
