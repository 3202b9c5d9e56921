// SPDX-License-Identifier: Apache-2.0
#include "ssh/host_pattern.hpp"

#include <cctype>

namespace nb::ssh {
namespace {

bool is_same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || is_same(pattern[p], text[t]))) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

}  // namespace

bool matches_any(std::span<const std::string_view> patterns, std::string_view name) {
  bool found = false;
  for (std::string_view pattern : patterns) {
    const bool negated = pattern.starts_with('!');
    if (negated) pattern.remove_prefix(1);
    if (!glob_match(pattern, name)) continue;
    if (negated) return false;
    found = true;
  }
  return found;
}

}  // namespace nb::ssh
