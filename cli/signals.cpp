// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "session/client.hpp"

namespace nb::cli {
namespace {

// Signal handlers leave no other way than state of the process. Lock-free, so allowed in a handler.
std::atomic<int> g_signals{0};
std::atomic<bool> g_second_exits{true};
std::atomic<bool> g_first_exits{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

constexpr int k_interrupted_exit = 20;

[[noreturn]] void exit_at_once() {
  constexpr std::string_view k_text = "nbackup: interrupted\n";
  static_cast<void>(!::write(STDERR_FILENO, k_text.data(), k_text.size()));
  ::_exit(k_interrupted_exit);
}

void on_signal(int) {
  if (g_first_exits) exit_at_once();
  if (g_signals.fetch_add(1) > 0 && g_second_exits) ::_exit(k_interrupted_exit);
  session::request_interrupt();
}

}  // namespace

void install_signal_handlers(SecondSignal second) {
  g_second_exits = second == SecondSignal::exits;
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file too large for a limit is an error of that file
  struct sigaction action {};
  action.sa_handler = on_signal;
  ::sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a blocked system call is to come back
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    // What was ignored on purpose (nohup) stays ignored.
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
  }
}

ExitOnSignal::ExitOnSignal() {
  g_first_exits = true;
  if (g_signals > 0) exit_at_once();
}

ExitOnSignal::~ExitOnSignal() { g_first_exits = false; }

ExitOnSignal::Pause::Pause() : m_before(g_first_exits.exchange(false)) {}

ExitOnSignal::Pause::~Pause() {
  g_first_exits = m_before;
  if (m_before && g_signals > 0) exit_at_once();
}

}  // namespace nb::cli
