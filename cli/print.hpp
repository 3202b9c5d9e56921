// SPDX-License-Identifier: Apache-2.0
// Formatted text to standard output. Unlike fmt::print it does not throw: a reader that has gone must not take the
// command's exit code with it. Whether all was written is asked once, at the end (main.cpp).
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace nb::cli {

template <class... Arguments>
void print_out(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  const std::string text = fmt::format(format, std::forward<Arguments>(arguments)...);
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
}

}  // namespace nb::cli
