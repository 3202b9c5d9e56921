// SPDX-License-Identifier: Apache-2.0
// Reading rules and walking the list.
#include "filter/rules.hpp"

#include <array>
#include <optional>

#include "base/text.hpp"

namespace nb::filter {
namespace {

tl::unexpected<Error> bad_rule(std::string_view rule, std::string_view reason) {
  constexpr std::size_t k_shown_bytes = 200;
  const std::string shown = std::string(rule.substr(0, k_shown_bytes)) + (rule.size() > k_shown_bytes ? "..." : "");
  return fail(Errc::usage, "filter rule '" + shown + "': " + std::string(reason));
}

// What follows one of the two spellings of a rule's kind and the separator; nothing if `rule` is of another kind.
std::optional<std::string_view> after_kind(std::string_view rule, std::string_view sign, std::string_view word) {
  for (const std::string_view kind : {sign, word}) {
    if (!rule.starts_with(kind) || rule.size() == kind.size()) continue;
    const char separator = rule[kind.size()];
    if (separator == ' ' || separator == '_') return rule.substr(kind.size() + 1);
  }
  return std::nullopt;
}

struct UnsupportedKind {
  char sign;
  std::string_view word;
};
constexpr std::array k_unsupported{
    UnsupportedKind{'.', "merge"}, UnsupportedKind{':', "dir-merge"}, UnsupportedKind{'H', "hide"},
    UnsupportedKind{'S', "show"},  UnsupportedKind{'P', "protect"},   UnsupportedKind{'R', "risk"},
};

// Why a --filter argument is none of the rules we know.
std::string why_refused(std::string_view rule) {
  if (rule.starts_with('!')) return "'!' takes nothing after it";
  if (rule == "-" || rule == "+") return "pattern missing";
  for (const std::string_view kind : {"-", "+", "exclude,", "include,"}) {
    if (rule.starts_with(kind)) return "modifiers of rules are not supported by this version";
  }
  for (const UnsupportedKind& kind : k_unsupported) {
    if (rule.starts_with(kind.sign) || rule.starts_with(kind.word)) {
      return "'" + std::string(kind.word) + "' rules are not supported by this version";
    }
  }
  return "expected '- PATTERN' or '+ PATTERN'";
}

}  // namespace

Status Rules::add_pattern(std::string_view rule, std::string_view pattern, Verdict verdict) {
  if (pattern.empty()) return bad_rule(rule, "pattern missing");
  if (pattern.size() > k_max_pattern_bytes) return bad_rule(rule, "pattern too long");
  if (pattern.find('\0') != std::string_view::npos) return bad_rule(rule, "NUL byte in pattern");
  Rule& added = m_rules.emplace_back(Rule{verdict, std::string(pattern), Pattern(pattern)});
  Places* places = &m_others;
  if (added.pattern.exact() == Pattern::Exact::path) places = &m_by_path[added.pattern.exact_text()];
  if (added.pattern.exact() == Pattern::Exact::name) places = &m_by_name[added.pattern.exact_text()];
  places->push_back(m_rules.size() - 1);
  return {};
}

void Rules::clear() { *this = Rules(); }

Status Rules::add(std::string_view rule, Verdict bare) {
  if (rule.empty()) return {};
  if (rule == "!") {
    clear();
    return {};
  }
  if (rule.starts_with("- ")) return add_pattern(rule, rule.substr(2), Verdict::exclude);
  if (rule.starts_with("+ ")) return add_pattern(rule, rule.substr(2), Verdict::include);
  return add_pattern(rule, rule, bare);
}

Status Rules::add_filter(std::string_view rule) {
  if (rule == "!" || rule == "clear") {
    clear();
    return {};
  }
  if (const auto pattern = after_kind(rule, "-", "exclude")) return add_pattern(rule, *pattern, Verdict::exclude);
  if (const auto pattern = after_kind(rule, "+", "include")) return add_pattern(rule, *pattern, Verdict::include);
  return bad_rule(rule, why_refused(rule));
}

Status Rules::add_file(std::string_view content, Verdict bare) {
  std::size_t number = 0;
  for (const std::string_view text : split(content, '\n')) {
    ++number;
    // rsync ends a line at a carriage return as well.
    for (const std::string_view line : split(text, '\r')) {
      if (line.starts_with('#') || line.starts_with(';')) continue;
      const Status added = add(line, bare);
      if (!added) return wrap(added.error(), "line " + std::to_string(number));
    }
  }
  return {};
}

const Rules::Places& Rules::places(const Index& index, std::string_view text) {
  static const Places none;
  const auto found = index.find(text);
  return found == index.end() ? none : found->second;
}

Verdict Rules::check(const RelPath& path, fs::FileType type) const {
  std::size_t first = m_rules.size();
  for (const Places* candidates : {&places(m_by_path, path.str()), &places(m_by_name, path.name()), &m_others}) {
    for (const std::size_t place : *candidates) {
      if (place >= first) break;
      if (m_rules[place].pattern.matches(path, type)) first = place;
    }
  }
  return first < m_rules.size() ? m_rules[first].verdict : Verdict::include;
}

std::vector<std::string> Rules::encoded() const {
  std::vector<std::string> rules;
  rules.reserve(m_rules.size());
  for (const Rule& rule : m_rules) rules.push_back((rule.verdict == Verdict::exclude ? "- " : "+ ") + rule.text);
  return rules;
}

}  // namespace nb::filter
