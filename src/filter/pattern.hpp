// SPDX-License-Identifier: Apache-2.0
// Pattern: what one filter rule matches: a Glob and the part of a path that it is held against. rsync's manual,
// "PATTERN MATCHING RULES" and "ANCHORING INCLUDE/EXCLUDE PATTERNS".
#pragma once

#include <string>
#include <string_view>

#include "base/rel_path.hpp"
#include "filter/glob.hpp"
#include "fs/stat.hpp"

namespace nb::filter {

class Pattern {
 public:
  // `text` is not empty, has no NUL and at most k_max_pattern_bytes (asserted).
  explicit Pattern(std::string_view text);

  // `path` is below the transfer's root and not the root itself, which no pattern matches.
  [[nodiscard]] bool matches(const RelPath& path, fs::FileType type) const;

  // A pattern without wildcards that is anchored, or has no slash, matches nothing but one path, or one name.
  enum class Exact : std::uint8_t { no, path, name };
  [[nodiscard]] Exact exact() const { return m_exact; }
  // That path (RelPath::str()) or name; empty for all others.
  [[nodiscard]] const std::string& exact_text() const { return m_exact_text; }

 private:
  enum class Scope : std::uint8_t {
    name,             // the last component
    last_components,  // the last m_components ones
    any_component,    // from any component to the end
    whole,            // all of the path
  };
  struct Parts;
  explicit Pattern(const Parts& parts);

  Exact m_exact;
  std::string m_exact_text;
  Scope m_scope;
  std::size_t m_components;  // with last_components
  bool m_directories_only;
  bool m_slash_before;           // "**/x" matches x at the root too: the path is seen with a '/' before it
  bool m_slash_after_directory;  // "x/***" matches the directory x itself: seen with a '/' after it
  Glob m_glob;
};

}  // namespace nb::filter
