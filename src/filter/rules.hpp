// SPDX-License-Identifier: Apache-2.0
// Rules: an ordered list of rsync's include and exclude rules in their simple form (rsync's manual, FILTER RULES). The
// first one that matches decides; what none matches is included. Immutable once built, so threads may share it then.
// Merge files, sides and modifiers are refused by name.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "filter/pattern.hpp"

namespace nb::filter {

enum class Verdict : std::uint8_t { include, exclude };

class Rules {
 public:
  // One argument of --exclude or --include: "- PATTERN" or "+ PATTERN", or a bare pattern, which means `bare`. "!"
  // alone clears the list; an empty argument is no rule. As with rsync, anything else is a pattern: a file may be named
  // ". x". Errc::usage, with the rule named, if the pattern is missing, too long or has a NUL.
  Status add(std::string_view rule, Verdict bare);
  // One argument of --filter, and one rule as received from a peer: "- PATTERN", "+ PATTERN" ('_' may stand for the
  // space, "exclude" and "include" for the sign) or "!". Errc::usage for everything else; kinds of rules that rsync
  // has and this version has not are named as such.
  Status add_filter(std::string_view rule);
  // The lines of an --exclude-from or --include-from file, each as for add(). Empty lines and lines that begin with '#'
  // or ';' are skipped; blanks are part of a pattern. The error names the line.
  Status add_file(std::string_view content, Verdict bare);

  // `path` is below the transfer's root. Parents are not consulted: a walk does not enter excluded directories, which
  // is what excludes all in them. The root itself is always included.
  [[nodiscard]] Verdict check(const RelPath& path, fs::FileType type) const;

  // For wire::Open::filter_rules; add_filter() of each, in order, builds the same list.
  [[nodiscard]] std::vector<std::string> encoded() const;
  [[nodiscard]] bool empty() const { return m_rules.empty(); }

 private:
  struct Rule {
    Verdict verdict;
    std::string text;  // the pattern as given
    Pattern pattern;
  };
  // Rules by their place in the list. Long lists are mostly of exact paths: those are looked up, not tried.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using Places = std::vector<std::size_t>;
  using Index = std::unordered_map<std::string, Places, Hash, std::equal_to<>>;

  Status add_pattern(std::string_view rule, std::string_view pattern, Verdict verdict);
  void clear();
  static const Places& places(const Index& index, std::string_view text);

  std::vector<Rule> m_rules;
  Index m_by_path;
  Index m_by_name;
  Places m_others;
};

}  // namespace nb::filter
