// SPDX-License-Identifier: Apache-2.0
// bench: how fast SSH between here and a host can be, with which algorithms, and what a push would wait for.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "base/fd.hpp"
#include "base/text.hpp"
#include "cache/client_hosts.hpp"
#include "cli/bench_far_end.hpp"
#include "cli/bench_run.hpp"
#include "cli/bench_table.hpp"
#include "cli/bench_verdict.hpp"
#include "cli/commands.hpp"
#include "cli/memory.hpp"
#include "cli/print.hpp"
#include "cli/standard_stream.hpp"
#include "cli/status_line.hpp"
#include "cli/terminal.hpp"
#include "cli/transfer.hpp"

namespace nb::cli {
namespace {

int serve_far_end(const Settings& settings, Clock& clock) {
  if (::isatty(STDIN_FILENO) == 1) {
    print_message("bench --far-end is the other end of bench and is started by it");
    return info(Errc::usage).exit_code;
  }
  // Its pipe is asked about once the stream has enlarged it.
  const Fd input(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
  auto stream = take_standard_stream(settings.timeout);
  if (!stream) return report_failure(stream.error());
  const auto done = serve_bench(**stream, facts_of_this_machine(input.get(), clock), clock);
  return done ? 0 : exit_code_of(done.error().code);
}

BenchOptions options_of(const Settings& settings, const BenchPlace& place) {
  BenchOptions options;
  options.host = settings.arguments.front();
  options.directory = place.directory.value_or(".");
  if (settings.arguments.size() > 1) options.source = settings.arguments[1];
  options.write_here = settings.write_here;
  options.time = settings.bench_time;
  options.wish = {settings.algorithms, settings.security,
                  settings.allow_tampering ? Tampering::allowed : Tampering::forbidden};
  return options;
}

// The status line, and messages from any thread, for which it makes room.
class Screen {
 public:
  explicit Screen(StatusLine::Use use) : m_line(stderr, use) {}
  void show(const std::string& text) {
    const std::lock_guard lock(m_mutex);
    m_line.show(text);
  }
  void say(const std::string& text) {
    const std::lock_guard lock(m_mutex);
    m_line.clear();
    print_message(escape(text));
  }

 private:
  std::mutex m_mutex;
  StatusLine m_line;
};

ConnectionMessages messages_on(Screen& screen, bool quiet) {
  const auto say = [&screen](const std::string& text) { screen.say(text); };
  const auto notice = [&screen, quiet](const std::string& text) {
    if (!quiet) screen.say(text);
  };
  return {notice, say, [](const transport::RemoteLink&) {},
          [&screen](std::string_view line) { screen.say("remote: " + std::string(line)); }};
}

// --save, which is confirmed in the result.
bool save_order(const BenchPlace& place, const BenchResult& result, const std::shared_ptr<cache::Store>& memory,
                Screen& screen, const Clock& clock) {
  const ssh::AlgorithmLists order = fastest_order(result);
  if (!order.ciphers) screen.say("--save: no pair was measured, so there is no order to save");
  if (!order.ciphers || !memory->usable()) return false;  // which was told when it was opened
  cache::ClientHosts(memory).save_order(host_key(place.host), order, clock.wall());
  return true;
}

StatusLine::Use use_of_line(const Settings& settings) {
  const bool wanted = settings.progress != ProgressChoice::never && !settings.quiet;
  return wanted && ::isatty(STDERR_FILENO) == 1 ? StatusLine::Use::shown : StatusLine::Use::hidden;
}

Result<BenchResult> measure(const Settings& settings, Clock& clock) {
  if (settings.arguments.empty()) return fail(Errc::usage, "bench needs a host: nbackup bench HOST[:DIR] [SRC]");
  NB_TRY_ASSIGN(const BenchPlace place, parse_bench_place(settings.arguments.front()));
  Screen screen(use_of_line(settings));
  const auto memory = open_memory([&screen](const std::string& text) { screen.say(text); });
  NB_TRY_ASSIGN(BenchLinks links, BenchLinks::choose(settings, remembered_host(place.host, memory),
                                                     messages_on(screen, settings.quiet), clock));
  const std::size_t columns = terminal_columns(stderr) - 1;
  const auto progress = [&](const std::string& what, double share) {
    screen.show(fmt::format("{:3.0f} %  {}", std::min(share, 1.0) * 100, what).substr(0, columns));
  };
  NB_TRY_ASSIGN(BenchResult result, run_measurements(links, options_of(settings, place), progress, clock));
  remember_host(memory, place.host, result.there, result.negotiated, clock);
  result.saved = settings.save && save_order(place, result, memory, screen, clock);
  if (result.saved && settings.csv && !settings.quiet) screen.say("the measured order is saved for " + place.host.name);
  return result;
}

int report(const Settings& settings, const Error& error) {
  if (error.code != Errc::interrupted) return report_early_error(settings, error);
  print_message("interrupted");
  return exit_code_of(error.code);
}

}  // namespace

int run_bench(const Settings& settings, Clock& clock) {
  if (settings.far_end) return serve_far_end(settings, clock);
  const auto result = measure(settings, clock);
  if (!result) return report(settings, result.error());
  print_out("{}", settings.json ? bench_json(*result) : settings.csv ? bench_csv(*result) : bench_table(*result));
  return 0;
}

}  // namespace nb::cli
