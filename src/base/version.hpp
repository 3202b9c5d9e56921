// SPDX-License-Identifier: Apache-2.0
// The program's version, from CMake's project().
#pragma once

namespace nb {
inline constexpr const char* k_version = NB_VERSION;
}
