// SPDX-License-Identifier: Apache-2.0
// What to do about an error, where that is known: the way out that a message ends with.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace nb::cli {

// One or two sentences, or nothing.
std::string_view hint_for(const Error& error);

}  // namespace nb::cli
