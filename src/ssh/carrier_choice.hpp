// SPDX-License-Identifier: Apache-2.0
// The pure half of choosing a carrier: reads the output of `ssh -G`, compares it with that of an empty configuration,
// and says whether libssh does what the configuration asks for. transport/ssh_select runs the programs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace nb::ssh {

// `ssh -G` as directive (lower case) -> its values in order; a directive may come on several lines.
using EffectiveConfig = std::map<std::string, std::vector<std::string>, std::less<>>;

// Lines "directive value"; a line without a value has the value "". Never fails: what is odd just differs.
EffectiveConfig parse_effective_config(std::string_view text);

enum class Carrier : std::uint8_t { libssh, ssh_program };

// The first value of a directive, by its name in lower case; empty where there is none.
std::string first_value(const EffectiveConfig& config, std::string_view name);

struct CarrierChoice {
  Carrier carrier = Carrier::libssh;
  std::string reason;  // empty for libssh without a remark; else one line for the user
  // For libssh: hostname, user and port, and every honoured directive that differs from the empty configuration. It is
  // given these instead of the configuration files, of which it understands less than OpenSSH does (Match originalhost
  // and final, or an explicit port, for example). Unset where there was no ssh program to ask.
  std::optional<EffectiveConfig> settings;
  EffectiveConfig effective;   // all that `ssh -G` said; empty where there was no ssh program to ask
  bool names_ciphers = false;  // whether the configuration does
};

// Compares the configuration of `host_label` with the empty one. The reason names every directive that libssh would
// ignore, in alphabetical order, in ssh_config's usual spelling where we know it.
CarrierChoice choose_carrier(const EffectiveConfig& host, const EffectiveConfig& empty, std::string_view host_label);

// Without an ssh program: the directives that occur in the configuration's text (whichever host they are for) and
// that libssh ignores, for a remark. `config_text` is one ssh_config file.
std::vector<std::string> unsupported_directives(std::string_view config_text);

// The words of such a text's Include lines, without quotes around them: names and patterns of files.
std::vector<std::string> included_patterns(std::string_view config_text);

// The known_hosts files that the configuration names, in order, with a leading "~/" replaced by `home`.
std::vector<std::string> known_hosts_files(const EffectiveConfig& config, std::string_view home);

// The first `@cert-authority` or `@revoked` marker of a line that can concern this host (its pattern list matches, or
// is hashed and cannot be told); nothing where there is none. `port` 22 is looked up bare, others as [name]:port.
std::optional<std::string> marker_for_host(std::string_view known_hosts_text, std::string_view name,
                                           std::uint16_t port);

// The number, from 1, of the first line that may concern this host and that libssh may read other than ssh does; nothing
// where there is none. libssh gives up a whole file at a line that it cannot read, and calls the host unknown then
// (another type of key, tabs, a damaged key, more than 8 KB); and it passes over the `!` of a pattern.
std::optional<std::size_t> odd_line_for_host(std::string_view known_hosts_text, std::string_view name,
                                             std::uint16_t port);

// Whether a line calls this key `@revoked`, for whichever host.
bool is_revoked(std::string_view known_hosts_text, std::string_view key_base64);

}  // namespace nb::ssh
