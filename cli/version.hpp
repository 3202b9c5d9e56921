// SPDX-License-Identifier: Apache-2.0
// Which nbackup this is, and with which libraries it runs.
#pragma once

#include <string>

namespace nb::cli {

inline constexpr const char* k_version = NB_VERSION;  // from the project() line

// Version, protocol versions and the libraries as loaded (not as compiled with), libssh with what it can do; lines ended
// by newlines.
std::string version_text();

}  // namespace nb::cli
