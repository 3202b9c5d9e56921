// SPDX-License-Identifier: Apache-2.0
// Taking a pattern apart, and choosing what of a path it is held against.
#include "filter/pattern.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace nb::filter {
namespace {

std::string_view last_components(std::string_view path, std::size_t count) {
  std::size_t end = path.size();
  while (count > 0) {
    const std::size_t slash = end == 0 ? std::string_view::npos : path.rfind('/', end - 1);
    --count;
    // The path's first component is as good as one after a slash, if it is the last one wanted.
    if (slash == std::string_view::npos) return count == 0 ? path : std::string_view();
    end = slash;
  }
  return path.substr(end + 1);
}

}  // namespace

// The text without the marks at its ends.
struct Pattern::Parts {
  explicit Parts(std::string_view text) : body(text) {
    NB_ASSERT(!text.empty() && text.size() <= k_max_pattern_bytes);
    if (body.size() > 1 && body.ends_with('/')) {
      directories_only = true;
      body.remove_suffix(1);
    }
    slashes = static_cast<std::size_t>(std::count(body.begin(), body.end(), '/'));
    wild = body.find_first_of("*?[") != std::string_view::npos;
    const std::size_t stars = body.find("**");
    wide = stars != std::string_view::npos;
    wide_first = stars == 0;
    wide_last = body.ends_with("***");  // "***/" as well, as rsync has it
    anchored = body.starts_with('/');
    if (anchored) body.remove_prefix(1);
  }

  [[nodiscard]] Scope scope() const {
    if (slashes == 0 && !wide) return Scope::name;
    if (anchored || wide_first) return Scope::whole;
    return wide ? Scope::any_component : Scope::last_components;
  }

  [[nodiscard]] Exact exact() const {
    if (wild) return Exact::no;
    if (slashes == 0) return Exact::name;
    return anchored ? Exact::path : Exact::no;
  }

  std::string_view body;
  std::size_t slashes = 0;  // a leading one included
  bool directories_only = false;
  bool anchored = false;
  bool wild = false;
  bool wide = false;        // has "**", which crosses slashes
  bool wide_first = false;  // begins with it
  bool wide_last = false;   // ends with "***"
};

Pattern::Pattern(std::string_view text) : Pattern(Parts(text)) {}

Pattern::Pattern(const Parts& parts)
    : m_exact(parts.exact()),
      m_exact_text(m_exact == Exact::no ? std::string_view() : parts.body),
      m_scope(parts.scope()),
      m_components(parts.slashes + 1),
      m_directories_only(parts.directories_only),
      m_slash_before(parts.wide_first),
      m_slash_after_directory(parts.wide_last),
      m_glob(parts.body, parts.wild ? Wildcards::active : Wildcards::literal) {}

bool Pattern::matches(const RelPath& path, fs::FileType type) const {
  if (path.is_root()) return false;
  const bool is_directory = type == fs::FileType::directory;
  if (m_directories_only && !is_directory) return false;
  std::string_view text = path.str();
  if (m_scope == Scope::name) text = path.name();
  if (m_scope == Scope::last_components) text = last_components(text, m_components);
  if (text.empty()) return false;
  const Starts starts = m_scope == Scope::any_component ? Starts::at_every_component : Starts::at_begin;
  return m_glob.matches(m_slash_before ? "/" : "", text, m_slash_after_directory && is_directory ? "/" : "", starts);
}

}  // namespace nb::filter
