// SPDX-License-Identifier: Apache-2.0
// The user's configuration file: options of the connection, for the hosts that they are meant for.
//
//   # what may pass in clear
//   Host rpi4 nas-*
//     ssh-security integrity
//   Host *
//     retry 3
//
// It reads like ssh_config(5): a block holds for the hosts that its patterns match, as the user writes their names, and
// of several values, or of options that contradict each other, the first counts. The names are those of the long options
// under "Connection and waiting", which the option table has; an option that a command does not take is passed over by
// it. One option a line, no quotes, comments on lines of their own. The command line wins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

// What `text`, the content of the file `name`, says about `host`, as words of a command line: "--retry=3". Errc::usage
// ("NAME:3: ...") for any line that says nothing, whichever host it is for.
Result<std::vector<std::string>> options_for(std::string_view text, const std::string& name, std::string_view host,
                                             CommandId command);

// The same from the user's file, for the host that the arguments name; nothing where there is neither. Errc::usage for
// a file that others may write: it names programs to run. Any other error is that of reading it.
Result<std::vector<std::string>> configured_options(const Settings& settings);

}  // namespace nb::cli
