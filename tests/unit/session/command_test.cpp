// SPDX-License-Identifier: Apache-2.0
// A command over a session: its output arrives whole and in order, and nothing but its end ends it.
#include "session/command.hpp"

#include <catch2/catch.hpp>
#include <future>
#include <thread>

#include "unit/session/raw_peer.hpp"

using namespace nb;
using namespace nb::test;

namespace {

// What a command wrote, as it came.
class Heard final : public session::CommandOutput {
 public:
  Status write(std::string_view bytes) override {
    if (refuses) return fail(Errc::no_space, "standard output");
    text += bytes;
    return {};
  }
  Status problem(const Error& error) override {
    text += "[" + error.context + "]";
    return {};
  }
  Status notice(const std::string& said) override {
    text += "(" + said + ")";
    return {};
  }
  std::string text;
  bool refuses = false;
};

wire::Command command_of(const std::vector<std::string>& words) {
  wire::Command command;
  command.words = words;
  return command;
}

// Runs `command` against a server with `handler`.
Result<int> run(const wire::Command& command, const session::CommandHandler& handler, Heard& heard) {
  session::ServeOptions options;
  options.on_command = handler;
  SystemClock clock;
  std::thread server;
  const session::Connector connect = [&]() -> Result<std::unique_ptr<transport::ByteStream>> {
    auto [near, far] = make_pipe({.buffer_bytes = 1000});
    server = std::thread([&, stream = std::move(far)]() mutable {
      Recorder silent;
      SystemClock own;
      static_cast<void>(session::serve(*stream, options, silent, own));
      stream->close_now();
    });
    return std::move(near);
  };
  auto exit_code = session::run_command(command, connect, {std::chrono::seconds(20)}, heard);
  if (server.joinable()) server.join();
  return exit_code;
}

}  // namespace

TEST_CASE("a command: output, problems and exit code come in order", "[session]") {
  Heard heard;
  const auto exit_code = run(
      command_of({"do", "this"}),
      [](const wire::Command& command, session::CommandOutput& output) -> Result<int> {
        for (const std::string& word : command.words) NB_TRY(output.write(word + "\n"));
        NB_TRY(output.problem({Errc::unreadable, 0, "x"}));
        NB_TRY(output.write("more"));
        NB_TRY(output.notice("by the way"));
        return 23;
      },
      heard);
  REQUIRE(exit_code);
  CHECK(*exit_code == 23);
  CHECK(heard.text == "do\nthis\n[x]more(by the way)");
}

TEST_CASE("a command: any amount of output, in any pieces", "[session]") {
  constexpr std::size_t k_pieces = 3000;
  const auto piece = [](std::size_t i) { return std::string(i % 1700, static_cast<char>('a' + i % 26)); };
  Heard heard;
  const auto exit_code = run(
      command_of({"much"}),
      [&](const wire::Command&, session::CommandOutput& output) -> Result<int> {
        for (std::size_t i = 0; i < k_pieces; ++i) NB_TRY(output.write(piece(i)));
        NB_TRY(output.write(std::string(300'000, 'z')));
        return 0;
      },
      heard);
  REQUIRE(exit_code);
  std::string all;
  for (std::size_t i = 0; i < k_pieces; ++i) all += piece(i);
  CHECK(heard.text == all + std::string(300'000, 'z'));
}

TEST_CASE("a command: its error comes after what it wrote", "[session]") {
  Heard heard;
  const auto exit_code = run(
      command_of({"fail"}),
      [](const wire::Command&, session::CommandOutput& output) -> Result<int> {
        NB_TRY(output.write("begun"));
        return fail(Errc::not_found, "what was asked for");
      },
      heard);
  REQUIRE_FALSE(exit_code);
  CHECK(exit_code.error().code == Errc::not_found);
  CHECK(exit_code.error().context == "what was asked for");
  CHECK(heard.text == "begun");
}

TEST_CASE("a command: who cannot write any more ends it on both sides", "[session]") {
  Heard heard;
  heard.refuses = true;
  bool ended = false;
  const auto exit_code = run(
      command_of({"endless"}),
      [&](const wire::Command&, session::CommandOutput& output) -> Result<int> {
        Status written;
        while (written) written = output.write(std::string(100'000, 'x'));
        ended = written.error().code == Errc::connection_lost;
        return tl::make_unexpected(written.error());
      },
      heard);
  REQUIRE_FALSE(exit_code);
  CHECK(exit_code.error().code == Errc::no_space);
  CHECK(ended);
}

TEST_CASE("a command: a server without any says so", "[session]") {
  Heard heard;
  const auto exit_code = run(command_of({"ls"}), nullptr, heard);
  REQUIRE_FALSE(exit_code);
  CHECK(exit_code.error().code == Errc::unsupported);
}

TEST_CASE("a command: what the peer would refuse is not sent", "[session]") {
  Heard heard;
  const auto never = [](const wire::Command&, session::CommandOutput&) -> Result<int> { return 0; };
  CHECK(run(command_of({}), never, heard).error().code == Errc::usage);
  CHECK(run(command_of({std::string(wire::k_max_command_word_bytes + 1, 'x')}), never, heard).error().code ==
        Errc::usage);
}

TEST_CASE("a command: nothing follows it, and no run after it", "[session]") {
  session::ServeOptions options;
  options.on_command = [](const wire::Command&, session::CommandOutput&) -> Result<int> { return 7; };
  RawPeer peer(options);
  peer.send(command_of({"x"}));
  CHECK(peer.receive<wire::CommandEnd>().exit_code == 7);
  TempDir dir;
  wire::Open open;
  open.destination = dir.path("pool");
  peer.send(open);
  peer.send(wire::Goodbye{});
  peer.finish();
  CHECK(peer.hears_no_more());
  CHECK_FALSE(std::filesystem::exists(dir.path("pool")));
}

namespace {

// A server whose command runs until `ends` says so, and the client's half of the connection.
struct WatchedCommand {
  std::promise<void> begun;
  std::promise<void> gone;
  std::promise<void> ends;
  session::ServeOptions options;

  WatchedCommand() {
    options.on_client_gone = [this] { gone.set_value(); };
    options.on_command = [this](const wire::Command&, session::CommandOutput&) -> Result<int> {
      begun.set_value();
      ends.get_future().wait();
      return 7;
    };
  }
};

}  // namespace

TEST_CASE("a command: the client's end is told while it runs", "[session]") {
  WatchedCommand watched;
  RawPeer peer(watched.options);
  peer.send(command_of({"x"}));
  watched.begun.get_future().wait();
  SECTION("lost") { peer.stream().close_now(); }
  SECTION("ended without a goodbye") { peer.finish(); }
  CHECK(watched.gone.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  watched.ends.set_value();
}

TEST_CASE("a command: who has said goodbye is not gone", "[session]") {
  WatchedCommand watched;
  {
    RawPeer peer(watched.options);
    peer.send(command_of({"x"}));
    peer.send(wire::KeepAlive{});
    peer.send(wire::Goodbye{});
    peer.finish();
    watched.ends.set_value();
    // The answer, or a reset where the server ended before it had read all of that.
    static_cast<void>(peer.hears_no_more());
  }
  CHECK(watched.gone.get_future().wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
}

TEST_CASE("a command: who goes when it has ended is not told of", "[session]") {
  WatchedCommand watched;
  watched.ends.set_value();
  {
    RawPeer peer(watched.options);
    peer.send(command_of({"x"}));
    CHECK(peer.receive<wire::CommandEnd>().exit_code == 7);
  }
  CHECK(watched.gone.get_future().wait_for(std::chrono::seconds(0)) == std::future_status::timeout);
}

TEST_CASE("a command: a server may say nothing else", "[session]") {
  Heard heard;
  SystemClock clock;
  std::thread server;
  const session::Connector connect = [&]() -> Result<std::unique_ptr<transport::ByteStream>> {
    auto [near, far] = make_pipe();
    server = std::thread([stream = std::move(far)]() mutable {
      session::Connection connection(*stream, {std::chrono::seconds(20)});
      static_cast<void>(session::exchange_hello(connection, {}, session::Side::server));
      static_cast<void>(session::receive<wire::Command>(connection));
      static_cast<void>(connection.send(wire::Item{">f+++++++++", path_of("a"), ""}));
      static_cast<void>(connection.flush());
      connection.drain();
    });
    return std::move(near);
  };
  const auto exit_code = session::run_command(command_of({"x"}), connect, {std::chrono::seconds(20)}, heard);
  server.join();
  REQUIRE_FALSE(exit_code);
  CHECK(exit_code.error().code == Errc::protocol);
}
