// SPDX-License-Identifier: Apache-2.0
#include "session/connection.hpp"
#include "session/handshake.hpp"

#include <atomic>
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "unit/session/pipe_stream.hpp"

using namespace nb;
using namespace nb::session;
using namespace nb::test;

namespace {
ConnectionOptions quiet() { return {std::chrono::milliseconds(5000)}; }

constexpr std::chrono::milliseconds k_patience(2000);

// Says nothing for longer than the other side's patience, which is what is tried, and then its last word.
void say_goodbye_late(Connection& connection) {
  std::this_thread::sleep_for(k_patience + k_patience / 2);
  static_cast<void>(connection.send(wire::Goodbye{}));
  static_cast<void>(connection.flush());
}
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
  Connection receiver(*far, {std::chrono::milliseconds(300)});
  CHECK(receiver.receive().error().code == Errc::timeout);
  auto [near2, far2] = make_pipe();
  Connection sender(*near2, {});
  sender.start_keep_alive(std::chrono::milliseconds(50));
  Connection patient(*far2, {k_patience});
  std::thread later([&sender] { say_goodbye_late(sender); });
  const auto message = patient.receive();
  later.join();
  REQUIRE(message.has_value());
  CHECK((*message)->type == wire::MessageType::goodbye);
}

TEST_CASE("keep-alives come in time for an impatient peer", "[session]") {
  auto [near, far] = make_pipe();
  Connection client(*near, {k_patience});
  std::thread server([stream = far.get()] {
    Connection connection(*stream, quiet());
    if (!exchange_hello(connection, {}, Side::server)) return;
    say_goodbye_late(connection);
    connection.drain();
  });
  CHECK(exchange_hello(client, {}, Side::client));
  const auto message = client.receive();
  client.close_now();
  server.join();
  REQUIRE(message.has_value());
  CHECK((*message)->type == wire::MessageType::goodbye);
}

TEST_CASE("a peer that only keeps the line alive is not waited for beyond the limit", "[session]") {
  auto [near, far] = make_pipe();
  Connection receiver(*far, quiet());
  Connection sender(*near, {});
  sender.start_keep_alive(std::chrono::milliseconds(20));
  receiver.close_after(std::chrono::milliseconds(300));
  CHECK(receiver.receive().error().code == Errc::connection_lost);
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

namespace {

wire::Data data_at(std::uint64_t offset, ByteView bytes) { return {offset, bytes}; }

Bytes text_of(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += "line " + std::to_string(text.size()) + " of a text that repeats itself\n";
  text.resize(bytes);
  const ByteView view = as_bytes(text);
  return {view.begin(), view.end()};
}

Bytes noise_of(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  Bytes noise(bytes);
  for (std::byte& b : noise) b = static_cast<std::byte>(random());
  return noise;
}

// Everything up to the orderly end.
std::vector<Bytes> receive_all_data(Connection& receiver) {
  std::vector<Bytes> received;
  while (true) {
    const auto message = receiver.receive();
    REQUIRE(message.has_value());
    if (!*message) return received;
    const auto data = wire::decode_message<wire::Data>((*message)->body);
    REQUIRE(data.has_value());
    received.emplace_back(data->bytes.begin(), data->bytes.end());
  }
}

}  // namespace

TEST_CASE("compressed and raw frames mix in one stream", "[session]") {
  auto [near, far] = make_pipe();
  Connection sender(*near, quiet());
  Connection receiver(*far, quiet());
  const Bytes text = text_of(200'000);
  // Never the same, which would be found in the window.
  std::vector<Bytes> contents;
  for (std::size_t round = 0; round < 30; ++round) {
    contents.push_back(round % 2 == 0 ? text : noise_of(200'000 + round));
  }
  std::thread sending([&, stream = &sender] {
    for (std::size_t round = 0; round < 30; ++round) {
      if (round == 5) stream->compress({codec::CompressionMode::fixed, 3}, codec::Windows::ordinary);
      if (round == 15) stream->compress({codec::CompressionMode::fixed, 6}, codec::affordable_windows());
      if (round == 25) stream->compress({codec::CompressionMode::off, 0}, codec::Windows::ordinary);
      static_cast<void>(stream->send(data_at(0, contents[round])));
    }
    static_cast<void>(stream->flush());
    stream->finish_sending();
  });
  const std::vector<Bytes> received = receive_all_data(receiver);
  sending.join();
  CHECK(received == contents);
  Counts sent;
  sender.count_traffic(sent);
  Counts seen;
  receiver.count_traffic(seen);
  CHECK(sent.sent_bytes == seen.received_bytes);
  CHECK(sent.sent_plain_bytes == seen.received_plain_bytes);
  CHECK(sent.sent_plain_bytes > 30 * 200'000);
  // Ten of the thirty went as next to nothing.
  CHECK(sent.sent_bytes < 21 * 200'000);
  CHECK(sent.sent_bytes > 20 * 200'000);
}

TEST_CASE("a compressed frame that is none is a protocol error", "[session]") {
  auto [near, far] = make_pipe();
  Connection receiver(*far, quiet());
  Bytes frame(wire::k_frame_header_bytes + 100, std::byte{7});
  wire::seal_frame(frame, wire::FrameEncoding::zstd);
  REQUIRE(near->write(frame).has_value());
  CHECK(receiver.receive().error().code == Errc::protocol);
}

TEST_CASE("sending goes on while nobody reads, up to a bound; all of it arrives", "[session]") {
  PipeOptions narrow;
  narrow.buffer_bytes = 1000;
  auto [near, far] = make_pipe(narrow);
  Connection sender(*near, quiet());
  const Bytes block = noise_of(100'000);
  // These fit the queue: nobody has to read for that.
  for (int i = 0; i < 8; ++i) REQUIRE((sender.send(data_at(0, block)) && sender.flush()));
  std::atomic<int> sent{0};
  std::thread sending([&] {
    for (; sent < 50; ++sent) static_cast<void>(sender.send(data_at(0, block)) && sender.flush());
    sender.finish_sending();
  });
  // Some seconds at most: without a bound they are all gone in a moment.
  int seen = -1;
  for (int quiet_rounds = 0; quiet_rounds < 20 && seen < 50; ++quiet_rounds) {
    if (const int now = sent; now != seen) {
      seen = now;
      quiet_rounds = 0;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(seen < 50);
  Connection receiver(*far, quiet());
  CHECK(receive_all_data(receiver).size() == 58);
  sending.join();
}

TEST_CASE("the last words arrive although the peer has not read anything yet", "[session]") {
  PipeOptions narrow;
  narrow.buffer_bytes = 100;
  auto [near, far] = make_pipe(narrow);
  auto sender = std::make_unique<Connection>(*near, quiet());
  const Bytes block = noise_of(200'000);
  REQUIRE(sender->send(data_at(0, block)).has_value());
  std::atomic<bool> said{false};
  std::thread speaking([&] { said = sender->send_error({Errc::no_space, 28, "the disk"}); });
  Connection receiver(*far, quiet());
  REQUIRE((*receiver.receive())->type == wire::MessageType::data);
  const auto last = receiver.receive();
  REQUIRE((last.has_value() && last->has_value()));
  CHECK((*last)->type == wire::MessageType::error);
  CHECK_FALSE(receiver.receive()->has_value());
  speaking.join();
  CHECK(said);
}

TEST_CASE("what arrived before the line broke can be received after it", "[session]") {
  auto [near, far] = make_pipe();
  auto sender = std::make_unique<Connection>(*near, quiet());
  Connection receiver(*far, quiet());
  for (std::uint64_t id = 0; id < 3; ++id) REQUIRE((sender->send(wire::DirectoryDone{id}) && sender->flush()));
  while (receiver.received_bytes() < 3 * (wire::k_frame_header_bytes + 6)) std::this_thread::yield();
  // All of it has been read by the thread; only now the line breaks.
  sender.reset();
  for (std::uint64_t id = 0; id < 3; ++id) {
    const auto message = receiver.receive();
    REQUIRE((message.has_value() && message->has_value()));
    CHECK(wire::decode_message<wire::DirectoryDone>((*message)->body)->id == id);
  }
  CHECK(receiver.receive().error().code == Errc::connection_lost);
  CHECK(receiver.receive().error().code == Errc::connection_lost);
}

TEST_CASE("an error of writing meets whoever sends next", "[session]") {
  PipeOptions options;
  options.cut_after_bytes = 10;
  auto [near, far] = make_pipe(options);
  Connection sender(*near, quiet());
  Status status;
  while (status) {
    status = sender.send(wire::Goodbye{});
    if (status) status = sender.flush();
  }
  CHECK(status.error().code == Errc::connection_lost);
  CHECK_FALSE(sender.send_error({Errc::no_space, 0, ""}));
  sender.finish_sending();  // does not wait for what can never be written
}

TEST_CASE("closing ends a sender that is blocked and a receiver that waits", "[session]") {
  PipeOptions narrow;
  narrow.buffer_bytes = 10;
  auto [near, far] = make_pipe(narrow);
  Connection connection(*near, {std::chrono::milliseconds(0)});
  const Bytes block = noise_of(200'000);
  std::thread sending([&] {
    while (connection.send(data_at(0, block)).has_value()) {
    }
  });
  std::thread closing([&] { connection.close_now(); });
  CHECK(connection.receive().error().code == Errc::connection_lost);
  sending.join();
  closing.join();
}

TEST_CASE("a connection ends at once although both of its threads wait for the peer", "[session]") {
  PipeOptions narrow;
  narrow.buffer_bytes = 10;
  auto [near, far] = make_pipe(narrow);
  Connection connection(*near, {std::chrono::milliseconds(0)});
  REQUIRE((connection.send(data_at(0, noise_of(1000))) && connection.flush()));
}

TEST_CASE("a keep-alive does not count as a message that waits", "[session]") {
  auto [near, far] = make_pipe();
  Connection sender(*near, quiet());
  Connection receiver(*far, quiet());
  REQUIRE((sender.send(wire::DirectoryDone{1}) && sender.send(wire::KeepAlive{}) && sender.flush()));
  REQUIRE((sender.send(wire::KeepAlive{}) && sender.flush()));
  REQUIRE((*receiver.receive())->type == wire::MessageType::directory_done);
  while (receiver.received_bytes() < sender.sent_bytes()) std::this_thread::yield();
  CHECK(receiver.drained());
  REQUIRE((sender.send(wire::DirectoryDone{2}) && sender.flush()));
  while (receiver.drained()) std::this_thread::yield();
  CHECK(wire::decode_message<wire::DirectoryDone>((*receiver.receive())->body)->id == 2);
}

TEST_CASE("silence while nobody receives is no timeout", "[session]") {
  auto [near, far] = make_pipe();
  Connection receiver(*far, {std::chrono::milliseconds(400)});
  // Busy with something else for longer than the limit.
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(900);
  while (std::chrono::steady_clock::now() < until) std::this_thread::yield();
  Connection sender(*near, quiet());
  REQUIRE((sender.send(wire::Goodbye{}) && sender.flush()));
  const auto message = receiver.receive();
  REQUIRE(message.has_value());
  CHECK((*message)->type == wire::MessageType::goodbye);
  const auto began = std::chrono::steady_clock::now();
  CHECK(receiver.receive().error().code == Errc::timeout);
  CHECK(std::chrono::steady_clock::now() - began >= std::chrono::milliseconds(390));
}

TEST_CASE("draining takes everything until the peer has closed, also behind a protocol error", "[session]") {
  PipeOptions narrow;
  narrow.buffer_bytes = 1000;
  for (const bool garbage : {false, true}) {
    auto [near, far] = make_pipe(narrow);
    Connection receiver(*far, quiet());
    std::atomic<bool> written{false};
    std::thread peer([&, stream = near.get()] {
      wire::FrameBuilder builder;
      builder.add(data_at(0, noise_of(200'000)));
      const Bytes frame = garbage ? noise_of(200'000) : builder.take();
      written = true;
      for (int i = 0; i < 25; ++i) written = written && stream->write(frame).has_value();
      static_cast<void>(stream->finish_writing());
    });
    // Good frames that nobody receives fill what is read ahead.
    if (garbage) CHECK(receiver.receive().error().code == Errc::protocol);
    receiver.drain();
    peer.join();
    CHECK(written);
  }
}
