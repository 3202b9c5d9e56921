// SPDX-License-Identifier: Apache-2.0
// Words and quoting: the -e option's command line into words, and words into one command for a remote POSIX shell.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace nb::ssh {

// Splits as rsync splits -e: blanks separate, single and double quotes group, and inside quotes a doubled quote stands
// for one. No backslashes, no expansion, no shell. Errc::usage for an open quote or no word at all.
Result<std::vector<std::string>> split_command(std::string_view text);

// One word that a POSIX shell (and csh or fish, for text without newline or '!') reads back as exactly `word`.
std::string shell_quote(std::string_view word);

// The words, quoted and joined by blanks: what an SSH exec request carries.
std::string shell_command(const std::vector<std::string>& words);

}  // namespace nb::ssh
