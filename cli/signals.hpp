// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP ask the session to stop in good order (session::request_interrupt).
#pragma once

#include <cstdint>

namespace nb::cli {

enum class SecondSignal : std::uint8_t {
  exits,    // the client: whoever presses Ctrl-C again after a second means it
  ignored,  // serve: a commit past its commit point must come to its end
};

// Also ignores SIGPIPE. Called once, by main(), before any thread exists.
void install_signal_handlers(SecondSignal second);

// While one of these lives, the first signal ends the process at once, with exit code 20: a library is connecting, which
// nothing can wake, and nothing has been begun that would need care. One at a time, on one thread.
class ExitOnSignal {
 public:
  ExitOnSignal();
  ~ExitOnSignal();
  ExitOnSignal(const ExitOnSignal&) = delete;
  ExitOnSignal& operator=(const ExitOnSignal&) = delete;

  // Within it, while a prompt has changed the terminal: a signal only ends the prompt's read.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    bool m_before;
  };
};

}  // namespace nb::cli
