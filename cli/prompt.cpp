// SPDX-License-Identifier: Apache-2.0
#include "cli/prompt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.hpp"
#include "cli/signals.hpp"
#include "session/interrupt.hpp"

namespace nb::cli {
namespace {

using transport::PromptKind;

// Turns echo off while it lives.
class EchoOff {
 public:
  explicit EchoOff(int terminal) : m_terminal(terminal), m_changed(::tcgetattr(terminal, &m_before) == 0) {
    if (!m_changed) return;
    termios silent = m_before;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    silent.c_lflag |= ECHONL;
    m_changed = ::tcsetattr(terminal, TCSAFLUSH, &silent) == 0;
  }
  ~EchoOff() {
    if (m_changed) (void)::tcsetattr(m_terminal, TCSAFLUSH, &m_before);
  }
  EchoOff(const EchoOff&) = delete;
  EchoOff& operator=(const EchoOff&) = delete;
  [[nodiscard]] bool active() const { return m_changed; }

 private:
  int m_terminal;
  termios m_before{};
  bool m_changed;
};

// False after a signal, whichever thread it came to.
bool wait_for_key(int terminal) {
  constexpr int k_tick_ms = 100;
  pollfd waited{terminal, POLLIN, 0};
  while (!session::interrupt_requested()) {
    const int found = ::poll(&waited, 1, k_tick_ms);
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return false;
  }
  return false;
}

std::optional<std::string> read_line(int terminal) {
  constexpr std::size_t k_longest = 4096;
  std::string line;
  char c = 0;
  while (wait_for_key(terminal) && ::read(terminal, &c, 1) == 1) {
    if (c == '\n') return line;
    if (line.size() == k_longest) return std::nullopt;
    line += c;
  }
  return std::nullopt;
}

std::optional<std::string> ask(PromptKind kind, const std::string& text) {
  const Fd terminal(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  if (!terminal.valid()) return std::nullopt;
  const ExitOnSignal::Pause pause;  // the echo must come back first
  if (!write_full(terminal.get(), as_bytes(text + " "))) return std::nullopt;
  if (kind == PromptKind::confirm) return read_line(terminal.get());
  const EchoOff silent(terminal.get());
  if (!silent.active()) return std::nullopt;  // never show a passphrase
  return read_line(terminal.get());
}

}  // namespace

transport::Prompt terminal_prompt() {
  if (::isatty(STDIN_FILENO) != 1) return {};
  return ask;
}

}  // namespace nb::cli
