// SPDX-License-Identifier: Apache-2.0
// The one place where an option is declared: its names, its help, the commands that take it, and what it does to
// Settings. parse.cpp hands the rows to CLI11 and applies each occurrence in the order of the command line.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "cli/settings.hpp"

namespace nb::cli {

enum class OptionKind : std::uint8_t { toggle, valued };

using CommandMask = std::uint32_t;
constexpr CommandMask mask_of(CommandId command) {
  return static_cast<CommandMask>(1U << static_cast<unsigned>(command));
}

struct OptionRow {
  const char* names;  // CLI11's form: "-n,--dry-run"
  OptionKind kind;
  const char* value_name;  // "N"; empty for toggles
  CommandMask commands;
  const char* group;  // heading in --help; empty hides the option there
  const char* help;   // lines of at most 50 columns
  // `value` is what was given; for toggles it means nothing.
  Status (*apply)(Settings& settings, const std::string& value);
};

std::span<const OptionRow> option_table();

// The option's long name ("--dry-run"), or its only one.
std::string_view long_name(const OptionRow& row);

// Whether it belongs to "Connection and waiting", which the configuration file may set for a host.
bool is_of_connection(const OptionRow& row);

struct CommandRow {
  CommandId id;
  const char* name;
  const char* arguments;  // "SRC... DEST"
  const char* help;
  std::size_t fewest_arguments;
  std::size_t most_arguments;
};

std::span<const CommandRow> command_table();
const CommandRow& command_row(CommandId id);

}  // namespace nb::cli
