// SPDX-License-Identifier: Apache-2.0
// The table behind carrier_choice: what nbackup does about each ssh_config directive when libssh carries the session.
// A directive that is not listed selects the ssh program as soon as it differs from the default: new ones in later
// OpenSSH versions are therefore safe.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nb::ssh {

enum class Handling : std::uint8_t {
  honoured,       // done through libssh
  honoured_once,  // so, for a single file name without '%' or '$'; anything else selects the program
  honoured_path,  // so, for paths without '%' or '$' (on any number of lines); anything else selects the program
  irrelevant,     // cannot matter to a command channel without terminal or forwarding
};

struct DirectiveRule {
  std::string_view name;  // lower case, as `ssh -G` prints it
  Handling handling;
  std::string_view why;
};

std::span<const DirectiveRule> directive_rules();

// The rule for `name` (lower case), or null.
const DirectiveRule* find_directive(std::string_view name);

}  // namespace nb::ssh
