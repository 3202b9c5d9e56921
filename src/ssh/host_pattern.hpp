// SPDX-License-Identifier: Apache-2.0
// The pattern lists of ssh_config(5) and known_hosts: '*' and '?', '!' before what is left out; upper and lower case are
// one.
#pragma once

#include <span>
#include <string_view>

namespace nb::ssh {

// Whether a pattern of the list matches `name`, and none with '!' does.
bool matches_any(std::span<const std::string_view> patterns, std::string_view name);

}  // namespace nb::ssh
