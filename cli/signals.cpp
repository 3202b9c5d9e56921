// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string_view>

#include "session/client.hpp"

namespace nb::cli {
namespace {

// Signal handlers leave no other way than state of the process. Lock-free, so allowed in a handler.
std::atomic<std::int64_t> g_first_at{0};  // when the first signal came; 0: none has
std::atomic<bool> g_second_exits{true};
std::atomic<bool> g_first_exits{false};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

constexpr int k_interrupted_exit = 20;
// timeout(1) and a service manager signal the process and then its group, which is one wish.
constexpr std::int64_t k_one_event_ms = 1000;

[[noreturn]] void exit_at_once() {
  constexpr std::string_view k_text = "nbackup: interrupted\n";
  static_cast<void>(!::write(STDERR_FILENO, k_text.data(), k_text.size()));
  ::_exit(k_interrupted_exit);
}

// Of the system's monotonic clock; allowed in a handler.
std::int64_t milliseconds_now() {
  struct timespec now {};
  static_cast<void>(::clock_gettime(CLOCK_MONOTONIC, &now));
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void on_signal(int) {
  if (g_first_exits) exit_at_once();
  const std::int64_t now = milliseconds_now();
  std::int64_t first = 0;
  const bool is_first = g_first_at.compare_exchange_strong(first, now);
  if (!is_first && g_second_exits && now - first > k_one_event_ms) ::_exit(k_interrupted_exit);
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
  if (g_first_at != 0) exit_at_once();
}

ExitOnSignal::~ExitOnSignal() { g_first_exits = false; }

ExitOnSignal::Pause::Pause() : m_before(g_first_exits.exchange(false)) {}

ExitOnSignal::Pause::~Pause() {
  g_first_exits = m_before;
  if (m_before && g_first_at != 0) exit_at_once();
}

}  // namespace nb::cli
