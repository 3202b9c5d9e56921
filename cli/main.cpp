// SPDX-License-Identifier: Apache-2.0
// nbackup: finds the command, reads its options, wires clock and signals, and turns the outcome into the exit code.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/host_options.hpp"
#include "cli/parse.hpp"
#include "cli/reported_run.hpp"
#include "cli/signals.hpp"
#include "cli/standard_output.hpp"
#include "cli/terminal.hpp"
#include "cli/transfer.hpp"
#include "cli/version.hpp"
#include "session/interrupt.hpp"

namespace nb::cli {
namespace {

void install_signals_for(const Settings& settings) {
  switch (settings.command) {
    case CommandId::push:
    case CommandId::pull:
    case CommandId::restore:
    case CommandId::verify:
    case CommandId::rollback:
    case CommandId::bench:
    case CommandId::doctor:
    case CommandId::scrub:
    case CommandId::heal: return install_signal_handlers(SecondSignal::exits);
    case CommandId::serve:
    case CommandId::drill:  // what it restored is to go in any case
      return install_signal_handlers(SecondSignal::ignored);
    case CommandId::init:
    case CommandId::recover:
    case CommandId::status:
    case CommandId::deploy:
    case CommandId::cache:
    case CommandId::generations:
    case CommandId::ls:
    case CommandId::cat:
    case CommandId::diff:
    case CommandId::prune:
    case CommandId::policy:
      // Short, or safe to interrupt anywhere; but whoever wants to hear of a failed run wants to hear of that.
      if (wants_reports(settings)) install_signal_handlers(SecondSignal::exits);
      return;
  }
}

// Whoever starts us may have closed these: the next file or socket would take their place, and messages would be written
// into it. Opened the other way round, so that using one is still an error.
void fill_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    static_cast<void>(::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY));  // takes the lowest free number
  }
}

// Each of many sources, and each generation that may heal a file, takes a descriptor; the usual limit of 1,024 is there
// for programs that use select(2).
void raise_limit_of_descriptors() {
  constexpr rlim_t k_enough = 65'535;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= k_enough) return;
  limit.rlim_cur = std::min(limit.rlim_max, k_enough);
  static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));  // as it was, then
}

// Ignored signals are inherited; with this one ignored no child can be waited for.
void let_children_be_waited_for() { static_cast<void>(std::signal(SIGCHLD, SIG_DFL)); }

int usage_error(const std::string& text) {
  print_message(text);
  print_message("  nbackup --help lists the commands");
  return info(Errc::usage).exit_code;
}

int print_help(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return 0;
}

int run_named(const std::string& name, const std::vector<std::string>& arguments) {
  const auto command = find_command(name);
  if (!command) return usage_error("no such command: " + escape(name));
  const auto settings = parse_arguments(*command, arguments, configured_options);
  if (!settings) {
    print_message(escape(settings.error().context));
    print_message("  nbackup " + name + " --help lists the options");
    return info(Errc::usage).exit_code;
  }
  if (!*settings) return print_help(command_help(*command));
  install_signals_for(**settings);
  SystemClock clock;
  return run_reported(**settings, clock, run_command);
}

int run_main(const std::vector<std::string>& words) {
  if (words.empty()) return usage_error("a command is needed");
  if (words[0] == "help" && words.size() > 1) {
    const auto command = find_command(words[1]);
    return command ? print_help(command_help(*command)) : usage_error("no such command: " + escape(words[1]));
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return print_help(general_help());
  if (words[0] == "--version" || words[0] == "-V") return print_help(version_text());
  return run_named(words[0], {words.begin() + 1, words.end()});
}

}  // namespace

int run_command(const Settings& settings, Clock& clock) {
  if (settings.config_error) return report_early_error(settings, *settings.config_error);
  switch (settings.command) {
    case CommandId::init: return run_init(settings, clock);
    case CommandId::push: return run_push(settings, clock);
    case CommandId::pull: return run_pull(settings, clock);
    case CommandId::restore: return run_restore(settings, clock);
    case CommandId::verify: return run_verify(settings, clock);
    case CommandId::serve: return run_serve(settings, clock);
    case CommandId::recover: return run_recover(settings, clock);
    case CommandId::status: return run_status(settings, clock);
    case CommandId::cache: return run_cache(settings, clock);
    case CommandId::bench: return run_bench(settings, clock);
    case CommandId::doctor: return run_doctor(settings, clock);
    case CommandId::deploy: return run_deploy(settings, clock);
    case CommandId::drill: return run_drill(settings, clock);
    case CommandId::generations:
    case CommandId::ls:
    case CommandId::cat:
    case CommandId::diff:
    case CommandId::rollback:
    case CommandId::prune:
    case CommandId::policy:
    case CommandId::scrub:
    case CommandId::heal: return run_host_command(settings, clock);
  }
  return info(Errc::internal).exit_code;
}

}  // namespace nb::cli

int main(int argc, char** argv) {
  nb::cli::fill_standard_descriptors();
  nb::cli::let_children_be_waited_for();
  nb::cli::raise_limit_of_descriptors();
  try {
    const int exit_code = nb::cli::checked_output(nb::cli::run_main({argv + (argc > 0 ? 1 : 0), argv + argc}));
    // A thread that was connecting may have been left alone (transport/abandonable_open.hpp).
    if (nb::session::interrupt_requested()) ::_exit(exit_code);
    return exit_code;
  } catch (const std::exception& error) {
    // Ours throw nothing; what arrives here is a library's, memory that ran out above all.
    std::fprintf(stderr, "nbackup: %s: %s\n", nb::info(nb::Errc::internal).text.data(), error.what());
    return nb::info(nb::Errc::internal).exit_code;
  }
}
