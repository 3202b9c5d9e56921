// SPDX-License-Identifier: Apache-2.0
#include "base/rel_path.hpp"

#include <algorithm>
#include <vector>

#include "base/assert.hpp"
#include "base/text.hpp"

namespace nb {

bool is_safe_name(std::string_view name) {
  return !name.empty() && name.size() <= k_max_name_bytes && name != "." && name != ".." &&
         name.find('/') == std::string_view::npos && name.find('\0') == std::string_view::npos;
}

bool is_reserved_name(std::string_view name) { return name == k_control_name || name == k_control_new_name; }

bool has_reserved_name(std::string_view path) {
  const std::vector<std::string_view> names = split(path, '/');
  return std::any_of(names.begin(), names.end(), is_reserved_name);
}

Result<RelPath> RelPath::parse(std::string_view text, Errc code) {
  if (text.empty()) return RelPath();
  if (text.size() > k_max_path_bytes) return fail(code, "path too long: " + std::string(text.substr(0, 80)) + "...");
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    if (!is_safe_name(text.substr(begin, end - begin))) return fail(code, "unsafe path '" + std::string(text) + "'");
    if (end == text.size()) return RelPath(std::string(text));
    begin = end + 1;
  }
}

RelPath RelPath::child(std::string_view name) const {
  NB_ASSERT(is_safe_name(name));
  if (m_text.empty()) return RelPath(std::string(name));
  std::string text;
  text.reserve(m_text.size() + 1 + name.size());
  text.append(m_text).append(1, '/').append(name);
  return RelPath(std::move(text));
}

RelPath RelPath::join(const RelPath& below) const {
  if (below.is_root()) return *this;
  if (is_root()) return below;
  return RelPath(m_text + "/" + below.m_text);
}

RelPath RelPath::parent() const {
  const std::size_t slash = m_text.rfind('/');
  return slash == std::string::npos ? RelPath() : RelPath(m_text.substr(0, slash));
}

std::string_view RelPath::name() const {
  const std::size_t slash = m_text.rfind('/');
  const std::string_view text = m_text;
  return slash == std::string::npos ? text : text.substr(slash + 1);
}

bool RelPath::is_within(const RelPath& other) const {
  if (other.is_root() || *this == other) return true;
  return m_text.size() > other.m_text.size() && m_text[other.m_text.size()] == '/' && m_text.starts_with(other.m_text);
}

std::size_t RelPath::depth() const {
  if (m_text.empty()) return 0;
  return 1 + static_cast<std::size_t>(std::count(m_text.begin(), m_text.end(), '/'));
}

}  // namespace nb
