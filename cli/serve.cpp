// SPDX-License-Identifier: Apache-2.0
// serve: the other end of a run, started by sshd or by a local client.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/host_command.hpp"
#include "cli/standard_stream.hpp"
#include "cli/summary.hpp"
#include "cli/terminal.hpp"
#include "session/client.hpp"
#include "session/serve.hpp"
#include "transport/throttle.hpp"

namespace nb::cli {
namespace {

// Everything it could say goes to the client over the protocol; only notices that are for this side's log remain.
class ServeObserver final : public session::Observer {
 public:
  void on_phase(wire::PhaseKind) override {}
  void on_progress(const session::Counts&) override {}
  void on_item(const wire::Item&) override {}
  void on_problem(const Error&) override {}
  void on_notice(const std::string& text) override { print_message(escape(text)); }
};

Result<std::string> real_directory(const std::string& path) {
  const auto unusable = [&path](int reason) { return fail(Errc::path, "--root " + path, reason); };
  std::array<char, PATH_MAX> resolved{};
  if (::realpath(path.c_str(), resolved.data()) == nullptr) return unusable(errno);
  const Fd probe(::open(resolved.data(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!probe.valid()) return unusable(errno);
  return std::string(resolved.data());
}

Result<session::ServeOptions> options_of(const Settings& settings) {
  session::ServeOptions options;
  options.read_only = settings.read_only;
  options.append_only = settings.append_only;
  options.inactivity = settings.timeout;
  if (settings.root) {
    NB_TRY_ASSIGN(options.root, real_directory(*settings.root));
  }
  return options;
}

Status serve(const Settings& settings, session::ServeOptions options, Clock& clock) {
  const ServeRights rights{options.root, options.read_only, options.append_only};
  options.on_command = [&](const wire::Command& command, session::CommandOutput& output) {
    return answer_host_command(command, rights, output, clock);
  };
  // There is no terminal here: the end of the connection is all that tells of a Ctrl-C over there.
  options.on_client_gone = session::request_interrupt;
  NB_TRY_ASSIGN(auto stream, take_standard_stream(settings.timeout));
  stream = transport::make_throttle(std::move(stream), {settings.bytes_per_second}, clock);
  ServeObserver observer;
  return session::serve(*stream, options, observer, clock);
}

int tell(const Error& error) {
  print_message(error_line(error));
  return info(error.code).exit_code;
}

// The client has been told everything else; here it would only be printed twice.
bool client_cannot_know(Errc code) {
  return code == Errc::connection_lost || code == Errc::timeout || code == Errc::internal;
}

}  // namespace

int run_serve(const Settings& settings, Clock& clock) {
  if (::isatty(STDIN_FILENO) == 1) {
    print_message("serve is the other end of push and pull and is started by them; see nbackup --help");
    return info(Errc::usage).exit_code;
  }
  auto options = options_of(settings);
  if (!options) return tell(options.error());
  const auto done = serve(settings, std::move(*options), clock);
  if (done) return 0;
  return client_cannot_know(done.error().code) ? tell(done.error()) : info(done.error().code).exit_code;
}

}  // namespace nb::cli
