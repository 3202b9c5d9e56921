// SPDX-License-Identifier: Apache-2.0
// The time zone of who reads, for a command that runs on another machine: a rule as TZ takes it (POSIX.1-2017, 8.3),
// "CET-1CEST,M3.5.0,M10.5.0/3". A rule and not a name, which would be a file to the other side.
#pragma once

#include <string>
#include <string_view>

namespace nb::cli {

// Of this process: TZ itself, the last line of its zone file or of /etc/localtime (RFC 8536), else the present offset.
std::string zone_rule();

// Whether `text` is such a rule and nothing else.
bool is_zone_rule(std::string_view text);

// From now on this process shows local times by `rule`; by UTC where it is none. It came from a peer.
void show_times_by(const std::string& rule);

}  // namespace nb::cli
