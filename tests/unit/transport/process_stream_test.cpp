// SPDX-License-Identifier: Apache-2.0
// What only a stream to a program has; the rest is in the contract suite.
#include "transport/process_stream.hpp"

#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <csignal>
#include <mutex>

#include "stream_rig.hpp"

namespace nb::test {
namespace {

using namespace std::chrono_literals;
using transport::open_process_stream;
using transport::PeerEnd;
using transport::ProcessOptions;

ProcessOptions shell(const std::string& script) {
  ProcessOptions options;
  options.argv = {"sh", "-c", script};
  return options;
}

struct Lines {
  std::mutex mutex;
  std::vector<std::string> all;

  transport::StderrLine taker() {
    return [this](std::string_view line) {
      const std::lock_guard lock(mutex);
      all.emplace_back(line);
    };
  }
};

}  // namespace

TEST_CASE("exit status and standard error are told", "[transport]") {
  Lines lines;
  ProcessOptions options = shell("echo 'sh: 1: nbackup: not found' >&2; printf unfinished >&2; exit 127");
  options.on_stderr = lines.taker();
  auto stream = open_process_stream(std::move(options));
  REQUIRE(stream.has_value());
  CHECK(read_all(**stream)->empty());
  const PeerEnd end = (*stream)->wait_end(20s);
  CHECK(end.exit_status == 127);
  CHECK(end.stderr_tail == "sh: 1: nbackup: not found\nunfinished");
  const std::lock_guard lock(lines.mutex);
  CHECK(lines.all == std::vector<std::string>{"sh: 1: nbackup: not found", "unfinished"});
}

TEST_CASE("the first answer is told, and everything written before it", "[transport]") {
  for (int round = 0; round < 20; ++round) {
    Lines lines;
    std::vector<std::string> before;
    unsigned answers = 0;
    ProcessOptions options =
        shell("echo mine 1 >&2; echo one >&2; echo mine 2 >&2; echo a; read x; echo b; echo two >&2");
    options.on_stderr = lines.taker();
    options.takes_stderr = [](std::string_view line) { return line.starts_with("mine"); };
    options.on_answer = [&] {
      const std::lock_guard lock(lines.mutex);
      before = lines.all;
      ++answers;
    };
    auto stream = open_process_stream(std::move(options));
    REQUIRE(stream.has_value());
    CHECK(answers == 0);
    std::array<std::byte, 1> first{};
    REQUIRE((*stream)->read(first, 20s) == std::size_t{1});
    CHECK(answers == 1);
    REQUIRE((*stream)->write(as_bytes("go\n")).has_value());
    CHECK(as_text(*read_all(**stream)) == "\nb\n");
    CHECK(answers == 1);
    CHECK(before == std::vector<std::string>{"one"});
    CHECK((*stream)->wait_end(20s).stderr_tail == "one\ntwo\n");
  }
}

TEST_CASE("a program that a signal ended", "[transport]") {
  auto stream = open_process_stream(shell("kill -KILL $$"));
  REQUIRE(stream.has_value());
  const PeerEnd end = (*stream)->wait_end(20s);
  CHECK(end.signal_name == "KILL");
  CHECK_FALSE(end.exit_status.has_value());
  CHECK((*stream)->wait_end(0ms).signal_name == "KILL");
}

TEST_CASE("a program that does not exist", "[transport]") {
  ProcessOptions options;
  options.argv = {"/no/such/program"};
  const auto stream = open_process_stream(options);
  REQUIRE_FALSE(stream.has_value());
  CHECK(stream.error().code == Errc::not_found);
  CHECK(stream.error().message().find("/no/such/program") != std::string::npos);
  CHECK(open_process_stream({}).error().code == Errc::usage);
}

TEST_CASE("a flood on standard error blocks nobody", "[transport]") {
  auto stream = open_process_stream(shell("yes 0123456789 | head -c 4000000 >&2; echo done"));
  REQUIRE(stream.has_value());
  const auto said = read_all(**stream);
  REQUIRE(said.has_value());
  CHECK(as_text(*said) == "done\n");
  CHECK((*stream)->wait_end(20s).stderr_tail.size() == transport::k_stderr_tail_bytes);
}

TEST_CASE("a daemon that keeps standard error open is not waited for", "[transport]") {
  auto stream = open_process_stream(shell("sleep 600 </dev/null >/dev/null & echo $!; echo told >&2"));
  REQUIRE(stream.has_value());
  const auto said = read_all(**stream);
  REQUIRE(said.has_value());
  const PeerEnd end = (*stream)->wait_end(20s);
  CHECK(end.exit_status == 0);
  CHECK(end.stderr_tail == "told\n");
  ::kill(static_cast<pid_t>(std::stol(std::string(as_text(*said)))), SIGKILL);
}

TEST_CASE("the program ignores Ctrl-C and what was ignored before, as by nohup", "[transport]") {
  const auto ignored = [](void (*hangup)(int)) {
    const auto before = std::signal(SIGHUP, hangup);
    auto stream = open_process_stream(shell("awk '/SigIgn/ {print $2}' /proc/self/status"));
    std::signal(SIGHUP, before);
    REQUIRE(stream.has_value());
    const auto said = read_all(**stream);
    REQUIRE(said.has_value());
    return std::stoull(std::string(as_text(*said)), nullptr, 16);
  };
  const auto bit = [](int number) { return 1ULL << (number - 1); };
  const auto pipe_before = std::signal(SIGPIPE, SIG_IGN);  // for our own sake
  const auto plain = ignored(SIG_DFL);
  const auto by_nohup = ignored(SIG_IGN);
  std::signal(SIGPIPE, pipe_before);
  const unsigned long long asked = bit(SIGHUP) | bit(SIGINT) | bit(SIGQUIT) | bit(SIGPIPE);
  CHECK((plain & asked) == (bit(SIGINT) | bit(SIGQUIT)));
  CHECK((by_nohup & asked) == (bit(SIGHUP) | bit(SIGINT) | bit(SIGQUIT)));
}

TEST_CASE("the program inherits no descriptor of ours", "[transport]") {
  const auto list = [] {
    auto stream = open_process_stream(shell("exec ls /proc/self/fd"));
    REQUIRE(stream.has_value());
    const auto said = read_all(**stream);
    REQUIRE(said.has_value());
    return std::string(as_text(*said));
  };
  const std::string before = list();
  CHECK(before.starts_with("0\n1\n"));
  {
    const EchoRig process = make_echo("process");
    const EchoRig pipes = make_echo("pipes");
    const EchoRig libssh = make_echo("libssh");
    CHECK(list() == before);
  }
  const Fd inherited(::dup(0));  // not close-on-exec: shows that the list would tell
  CHECK(list() != before);
}

TEST_CASE("output of a program is captured", "[transport]") {
  const auto good = transport::run_and_capture({"sh", "-c", "echo out; echo err >&2; exit 3"}, 100, 20s);
  REQUIRE(good.has_value());
  CHECK(good->output == "out\n");
  CHECK(good->end.exit_status == 3);
  CHECK(good->end.stderr_tail == "err\n");
  CHECK(transport::run_and_capture({"sh", "-c", "exec 2>&-; echo late"}, 100, 20s)->output == "late\n");
  CHECK(transport::run_and_capture({"cat"}, 100, 20s)->output.empty());
}

TEST_CASE("a program that talks too much or never ends is not captured", "[transport]") {
  CHECK(transport::run_and_capture({"yes"}, 1000, 20s).error().code == Errc::protocol);
  CHECK(transport::run_and_capture({"sleep", "600"}, 1000, 100ms).error().code == Errc::timeout);
  CHECK(transport::run_and_capture({"sh", "-c", "exec >&- 2>&-; exec sleep 600"}, 1000, 100ms).error().code ==
        Errc::timeout);
  CHECK(transport::run_and_capture({"/no/such/program"}, 1000, 20s).error().code == Errc::not_found);
}

}  // namespace nb::test
