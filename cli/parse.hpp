// SPDX-License-Identifier: Apache-2.0
// From argv to Settings: the only user of CLI11. Options of one command are applied in the order of the command line,
// so that filter rules keep it and the last of two contradicting options wins; so does any over the configuration file
// (host_options.hpp), whose options stand before it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

// The command that `name` names.
std::optional<CommandId> find_command(std::string_view name);

// The words that the configuration file has for a command (host_options.hpp); its error becomes Settings::config_error.
using Configured = std::function<Result<std::vector<std::string>>(const Settings& arguments_alone)>;

// `arguments` is what follows the command's name. Nothing if --help is among them. Every error is Errc::usage, with a
// message that names the option. `configured` may be empty.
Result<std::optional<Settings>> parse_arguments(CommandId command, const std::vector<std::string>& arguments,
                                                const Configured& configured = {});

// `nbackup COMMAND --help`, and `nbackup --help`; at most 80 columns.
std::string command_help(CommandId command);
std::string general_help();

}  // namespace nb::cli
