// SPDX-License-Identifier: Apache-2.0
#include "session/connection.hpp"

#include <catch2/catch.hpp>

#include "unit/session/pipe_stream.hpp"

using namespace nb;
using namespace nb::session;
using namespace nb::test;

namespace {
ConnectionOptions quiet() { return {std::chrono::milliseconds(5000), std::chrono::milliseconds(0)}; }
}  // namespace

TEST_CASE("messages arrive in order, joined in frames", "[session]") {
  auto [near, far] = make_pipe();
  Connection sender(*near, quiet());
  Connection receiver(*far, quiet());
  for (std::uint64_t id = 0; id < 100; ++id) REQUIRE(sender.send(wire::DirectoryDone{id}).has_value());
  REQUIRE(sender.flush().has_value());
  for (std::uint64_t id = 0; id < 100; ++id) {
    const auto message = receiver.receive();
    REQUIRE(message.has_value());
    REQUIRE(message->has_value());
    CHECK(wire::decode_message<wire::DirectoryDone>((*message)->body)->id == id);
  }
  CHECK(receiver.drained());
  CHECK(sender.sent_bytes() == receiver.received_bytes());
  sender.finish_sending();
  CHECK_FALSE(receiver.receive().value().has_value());
}

TEST_CASE("a login banner is told from a frame", "[session]") {
  auto [near, far] = make_pipe();
  Connection receiver(*far, quiet());
  REQUIRE(near->write(as_bytes("Welcome to the machine!\n")).has_value());
  const auto message = receiver.receive();
  REQUIRE_FALSE(message.has_value());
  CHECK(message.error().code == Errc::protocol);
  CHECK(message.error().context.find("Welcome") != std::string::npos);
}

TEST_CASE("a silent peer is a timeout, unless keep-alives come", "[session]") {
  auto [near, far] = make_pipe();
  Connection receiver(*far, {std::chrono::milliseconds(300), std::chrono::milliseconds(0)});
  CHECK(receiver.receive().error().code == Errc::timeout);
  auto [near2, far2] = make_pipe();
  Connection sender(*near2, {std::chrono::milliseconds(0), std::chrono::milliseconds(50)});
  sender.start_keep_alive();
  Connection patient(*far2, {std::chrono::milliseconds(2000), std::chrono::milliseconds(0)});
  std::thread later([&] {
    // Several keep-alives pass before the message does.
    while (sender.sent_bytes() < 100) std::this_thread::yield();
    static_cast<void>(sender.send(wire::Goodbye{}));
    static_cast<void>(sender.flush());
  });
  const auto message = patient.receive();
  later.join();
  REQUIRE(message.has_value());
  CHECK((*message)->type == wire::MessageType::goodbye);
}

TEST_CASE("a cut inside a frame is a lost connection", "[session]") {
  for (const std::uint64_t at : {1U, 15U, 16U, 20U}) {
    PipeOptions options;
    options.cut_after_bytes = at;
    auto [near, far] = make_pipe(options);
    Connection sender(*near, quiet());
    Connection receiver(*far, quiet());
    static_cast<void>(sender.send(wire::Goodbye{}));
    static_cast<void>(sender.flush());
    CHECK(receiver.receive().error().code == Errc::connection_lost);
  }
}
