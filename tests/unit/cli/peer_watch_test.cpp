// SPDX-License-Identifier: Apache-2.0
// The other side ends before its first byte: what the user is told.
#include "cli/peer_watch.hpp"

#include <catch2/catch.hpp>
#include <cstring>

using namespace nb;
using namespace nb::cli;
using transport::PeerEnd;

namespace {

const PeerDescription k_over_ssh{"rpi4", "nbackup serve", FarEnd::shell_program};
const PeerDescription k_over_libssh{"rpi4", "nbackup serve", FarEnd::libssh};

std::optional<Errc> code_of(const PeerEnd& end, const PeerDescription& peer) {
  const auto error = explain_early_end(end, peer);
  return error ? std::optional(error->code) : std::nullopt;
}

// Gives `content` piece by piece, then the end.
class ScriptedStream final : public transport::ByteStream {
 public:
  ScriptedStream(std::string content, PeerEnd end) : m_content(std::move(content)), m_end(std::move(end)) {}
  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds) override {
    if (m_content.empty()) return std::size_t{0};
    out[0] = static_cast<std::byte>(m_content[0]);
    m_content.erase(0, 1);
    return std::size_t{1};
  }
  Status write(ByteView) override { return {}; }
  Status finish_writing() override { return {}; }
  void close_now() override {}
  PeerEnd wait_end(std::chrono::milliseconds) override { return m_end; }
  [[nodiscard]] std::string describe() const override { return "script"; }

 private:
  std::string m_content;
  PeerEnd m_end;
};

}  // namespace

TEST_CASE("a host without nbackup is recognised", "[cli]") {
  const PeerEnd missing{127, "", "bash: line 1: nbackup: command not found\n"};
  const auto error = explain_early_end(missing, k_over_libssh);
  REQUIRE(error);
  CHECK(error->code == Errc::remote_missing);
  CHECK(error->context.find("rpi4") != std::string::npos);
  CHECK(error->context.find("command not found") != std::string::npos);
  CHECK(code_of({127, "", ""}, k_over_ssh) == Errc::remote_missing);
  CHECK(code_of({126, "", "Permission denied"}, k_over_ssh) == Errc::remote_missing);
  CHECK(code_of({1, "", "sh: nbackup: not found"}, k_over_libssh) == Errc::remote_missing);
  CHECK(code_of({1, "", "nbackup: Command not found.\n"}, k_over_libssh) == Errc::remote_missing);
  const PeerEnd says_so_itself{24, "", "nbackup: /srv: No such file or directory\n"};
  CHECK_FALSE(explain_early_end(says_so_itself, k_over_libssh));
}

TEST_CASE("what the other side cannot serve is an error that stays", "[cli]") {
  const auto error = explain_early_end({3, "", "nbackup: /gone: path not usable\n"}, k_over_ssh);
  REQUIRE(error);
  CHECK(error->code == Errc::path);
  CHECK(error->context.find("/gone") != std::string::npos);
  const auto hinted =
      explain_early_end({1, "", "nbackup: --nonsense: no such option\nnbackup:   see --help\n"}, k_over_libssh);
  REQUIRE(hinted);
  CHECK(hinted->code == Errc::usage);
  CHECK(hinted->context.find("--nonsense") != std::string::npos);
  CHECK_FALSE(code_of({3, "", "some wrapper's own words"}, k_over_ssh));
}

TEST_CASE("the ssh program's failures are told apart", "[cli]") {
  CHECK(code_of({255, "", "me@rpi4: Permission denied (publickey)."}, k_over_ssh) == Errc::auth);
  CHECK(code_of({255, "", "Host key verification failed."}, k_over_ssh) == Errc::host_key);
  CHECK(code_of({255, "", "ssh: connect to host rpi4 port 22: Connection refused"}, k_over_ssh) == Errc::connect);
  CHECK(code_of({255, "", "ssh: connect to host rpi4 port 22: Connection timed out"}, k_over_ssh) ==
        Errc::connect_timeout);
}

TEST_CASE("an end that says nothing is left as it is", "[cli]") {
  CHECK_FALSE(code_of({}, k_over_ssh));
  CHECK_FALSE(code_of({0, "", ""}, k_over_ssh));
  CHECK_FALSE(code_of({255, "", ""}, k_over_libssh));
  CHECK_FALSE(code_of({std::nullopt, "KILL", ""}, k_over_libssh));
  CHECK_FALSE(code_of({11, "", "nbackup: /pool: Input/output error"}, k_over_ssh));
  CHECK_FALSE(code_of({1, "", "Permission denied"}, k_over_ssh));
}

TEST_CASE("the stream returns the explanation in place of the end", "[cli]") {
  const auto stream = watch_peer(std::make_unique<ScriptedStream>("", PeerEnd{127, "", "not found"}), k_over_ssh);
  std::byte byte{};
  const auto got = stream->read({&byte, 1}, std::chrono::milliseconds(0));
  REQUIRE_FALSE(got);
  CHECK(got.error().code == Errc::remote_missing);
  CHECK(info(got.error().code).cls == ErrorClass::permanent);  // so that --retry does not try it again
}

TEST_CASE("after the first byte an end is an end", "[cli]") {
  const auto stream = watch_peer(std::make_unique<ScriptedStream>("x", PeerEnd{127, "", "not found"}), k_over_ssh);
  std::byte byte{};
  CHECK(stream->read({&byte, 1}, std::chrono::milliseconds(0)).value() == 1);
  CHECK(stream->read({&byte, 1}, std::chrono::milliseconds(0)).value() == 0);
}

TEST_CASE("an end that we made is not explained", "[cli]") {
  const auto stream = watch_peer(std::make_unique<ScriptedStream>("", PeerEnd{127, "", "not found"}), k_over_ssh);
  stream->close_now();
  std::byte byte{};
  CHECK(stream->read({&byte, 1}, std::chrono::milliseconds(0)).value() == 0);
}
