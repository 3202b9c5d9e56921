// SPDX-License-Identifier: Apache-2.0
#include "session/name_pattern.hpp"

#include "base/assert.hpp"
#include "base/rel_path.hpp"

namespace nb::session {
namespace {

std::string_view checked(std::string_view text) {
  NB_ASSERT(text.size() <= k_max_name_bytes);
  return text;
}

}  // namespace

bool NamePattern::is_pattern(std::string_view name) {
  return name.size() <= k_max_name_bytes && name.find_first_of("*?[") != std::string_view::npos;
}

NamePattern::NamePattern(std::string_view text)
    : m_glob(checked(text), filter::Wildcards::active), m_takes_dot(text.starts_with('.') || text.starts_with("\\.")) {}

bool NamePattern::matches(std::string_view name) const {
  if (name.starts_with('.') && !m_takes_dot) return false;
  return m_glob.matches({}, name, {}, filter::Starts::at_begin);
}

}  // namespace nb::session
