// SPDX-License-Identifier: Apache-2.0
#include "cli/peer_watch.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "base/text.hpp"

namespace nb::cli {
namespace {

using transport::ByteStream;
using transport::PeerEnd;

constexpr std::chrono::milliseconds k_end_limit{3000};  // it has closed its output: its end is near
constexpr int k_shell_not_executable = 126;
constexpr int k_shell_not_found = 127;
constexpr int k_ssh_failed = 255;
constexpr std::string_view k_our_name = "nbackup: ";

bool says(const PeerEnd& end, std::string_view words) { return end.stderr_tail.find(words) != std::string::npos; }

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const std::size_t newline = text.rfind('\n');
  return std::string(newline == std::string_view::npos ? text : text.substr(newline + 1));
}

// What tells so itself is there: it found something else missing. But csh begins with the name too.
bool says_not_found(const PeerEnd& end) {
  constexpr std::array k_words{"not found", "No such file", "Unknown command", "not recognized"};
  const std::string line = last_line(end.stderr_tail);
  if (line.starts_with(k_our_name) && line != "nbackup: Command not found.") return false;
  return std::any_of(k_words.begin(), k_words.end(), [&](const char* words) { return says(end, words); });
}

// The ssh program's own failures, told apart by OpenSSH's words; they are not translated.
Errc ssh_failure(const PeerEnd& end) {
  if (says(end, "Host key verification failed") || says(end, "REMOTE HOST IDENTIFICATION HAS CHANGED")) {
    return Errc::host_key;
  }
  if (says(end, "Permission denied") || says(end, "Too many authentication failures")) return Errc::auth;
  if (says(end, "timed out")) return Errc::connect_timeout;
  return Errc::connect;
}

// What nbackup said last, but for hints, which begin with blanks.
std::string last_reason(std::string_view text) {
  std::string reason;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(k_our_name)) continue;
    const std::string_view said = line.substr(k_our_name.size());
    if (!said.starts_with(' ')) reason = said;
  }
  return reason;
}

// What nbackup refuses there that another attempt would be refused as well: its command line, and a --root that is away.
std::optional<Error> refusal(const PeerEnd& end, const PeerDescription& peer) {
  const std::string reason = last_reason(end.stderr_tail);
  if (reason.empty()) return std::nullopt;
  for (const Errc code : {Errc::usage, Errc::path}) {
    if (end.exit_status == info(code).exit_code) return Error{code, 0, peer.name + " cannot serve (" + reason + ")"};
  }
  return std::nullopt;
}

Error missing(const PeerEnd& end, const PeerDescription& peer) {
  std::string context = peer.name + ": '" + peer.command + "' could not be started";
  if (const std::string line = last_line(end.stderr_tail); !line.empty()) context += " (" + line + ")";
  return {Errc::remote_missing, 0, std::move(context)};
}

class PeerWatch final : public ByteStream {
 public:
  PeerWatch(std::unique_ptr<ByteStream> inner, PeerDescription peer)
      : m_inner(std::move(inner)), m_peer(std::move(peer)) {}

  Result<std::size_t> read(std::span<std::byte> out, std::chrono::milliseconds inactivity) override {
    auto got = m_inner->read(out, inactivity);
    if (got && *got > 0) m_heard_something = true;
    const bool ended = got ? *got == 0 : got.error().code == Errc::connection_lost;
    if (!ended || m_heard_something || m_closed) return got;
    if (auto why = explain_early_end(m_inner->wait_end(k_end_limit), m_peer)) return tl::make_unexpected(*why);
    return got;
  }

  Status write(ByteView data) override { return m_inner->write(data); }
  Status finish_writing() override { return m_inner->finish_writing(); }
  void close_now() override {
    m_closed = true;  // an end that we made needs no explanation
    m_inner->close_now();
  }
  PeerEnd wait_end(std::chrono::milliseconds limit) override { return m_inner->wait_end(limit); }
  [[nodiscard]] std::string describe() const override { return m_inner->describe(); }

 private:
  std::unique_ptr<ByteStream> m_inner;
  PeerDescription m_peer;
  bool m_heard_something = false;  // of the reading thread
  std::atomic<bool> m_closed{false};
};

}  // namespace

std::optional<Error> explain_early_end(const PeerEnd& end, const PeerDescription& peer) {
  if (end.exit_status == k_ssh_failed && peer.far_end == FarEnd::shell_program) {
    const std::string line = last_line(end.stderr_tail);
    return Error{ssh_failure(end), 0, peer.name + (line.empty() ? "" : ": " + line)};
  }
  if (end.exit_status == k_shell_not_found || end.exit_status == k_shell_not_executable) return missing(end, peer);
  if (end.ended() && !end.ended_well() && says_not_found(end)) return missing(end, peer);
  return refusal(end, peer);
}

std::unique_ptr<ByteStream> watch_peer(std::unique_ptr<ByteStream> inner, PeerDescription peer) {
  return std::make_unique<PeerWatch>(std::move(inner), std::move(peer));
}

}  // namespace nb::cli
