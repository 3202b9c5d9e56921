// SPDX-License-Identifier: Apache-2.0
// Asking the person at the terminal: passphrases and host keys.
#pragma once

#include "transport/libssh_stream.hpp"

namespace nb::cli {

// Empty where standard input is not a terminal: a cron job is never asked. Speaks through /dev/tty, so that neither
// output nor redirections are disturbed.
transport::Prompt terminal_prompt();

}  // namespace nb::cli
