// SPDX-License-Identifier: Apache-2.0
#include "session/asked_names.hpp"

#include <algorithm>

namespace nb::session {

void AskedNames::add_past(std::string name) {
  if (NamePattern::is_pattern(name)) m_patterns.emplace_back(name);
  m_names.insert(std::move(name));
}

bool AskedNames::contains(const std::string& name) const {
  return m_names.contains(name) || std::any_of(m_patterns.begin(), m_patterns.end(),
                                               [&](const NamePattern& pattern) { return pattern.matches(name); });
}

}  // namespace nb::session
