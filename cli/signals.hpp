// SPDX-License-Identifier: Apache-2.0
// SIGINT, SIGTERM and SIGHUP ask the session to stop in good order (session::request_interrupt).
#pragma once

#include <cstdint>

namespace nb::cli {

enum class SecondSignal : std::uint8_t {
  exits,    // the client: whoever presses Ctrl-C twice means it
  ignored,  // serve: a commit past its commit point must come to its end
};

// Also ignores SIGPIPE. Called once, by main(), before any thread exists.
void install_signal_handlers(SecondSignal second);

}  // namespace nb::cli
