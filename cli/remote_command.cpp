// SPDX-License-Identifier: Apache-2.0
#include "cli/remote_command.hpp"

#include <array>
#include <cstdio>

#include "base/text.hpp"
#include "cli/connect.hpp"
#include "cli/terminal.hpp"

namespace nb::cli {
namespace {

constexpr std::chrono::milliseconds k_end_limit{10000};
// An ssh program's own failure: no nbackup ends with it.
constexpr int k_ssh_failed = 255;

// The other end's lines are its own words, already escaped there; but it may be hostile, so they are escaped again,
// except for the line ends.
void pass_on(std::string_view text) {
  std::string shown;
  for (const std::string_view line : split(text, '\n')) {
    if (!shown.empty()) shown += '\n';
    shown += escape(line);
  }
  std::fputs(shown.c_str(), stdout);
}

Result<std::string> read_all(transport::ByteStream& stream) {
  constexpr std::size_t k_most_bytes = 64 << 10;
  std::string text;
  std::array<std::byte, 4096> buffer{};
  while (true) {
    NB_TRY_ASSIGN(const std::size_t count, stream.read(buffer, std::chrono::milliseconds(0)));
    if (count == 0) return text;
    text += as_text(ByteView(buffer).first(count));
    if (text.size() > k_most_bytes) return fail(Errc::protocol, "the remote command prints too much");
  }
}

Result<int> run_there(const Settings& settings, const ssh::Host& host, const std::string& command) {
  NB_TRY_ASSIGN(const auto stream, open_remote(settings, {host, std::nullopt, {}}, command, printed_messages()));
  NB_TRY(stream->finish_writing());
  NB_TRY_ASSIGN(const std::string output, read_all(*stream));
  pass_on(output);
  const auto end = stream->wait_end(k_end_limit);
  if (!end.exit_status || *end.exit_status == k_ssh_failed) return fail(Errc::connection_lost, host.name);
  // No command that is started there connects to anything.
  if (*end.exit_status == info(Errc::connection_lost).exit_code) {
    return fail(Errc::unsupported, host.name + ": this needs a key without a forced command, and serve was started");
  }
  return *end.exit_status;
}

}  // namespace

int run_on_host(const Settings& settings, const ssh::Host& host, const std::vector<std::string>& words) {
  const auto exit_code = run_there(settings, host, remote_command_line(settings, words));
  return exit_code ? *exit_code : report_failure(exit_code.error());
}

}  // namespace nb::cli
