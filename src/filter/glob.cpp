// SPDX-License-Identifier: Apache-2.0
// Compiling a wildcard text to tokens and running them as a nondeterministic automaton: state i means that the first i
// tokens have matched.
#include "filter/glob.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>

#include "base/assert.hpp"

namespace nb::filter {
namespace {

unsigned char byte_at(std::string_view text, std::size_t at) { return static_cast<unsigned char>(text[at]); }

using ClassTest = int (*)(int);
struct NamedClass {
  std::string_view name;
  ClassTest test;
};
constexpr std::array k_classes{
    NamedClass{"alnum", std::isalnum}, NamedClass{"alpha", std::isalpha}, NamedClass{"blank", std::isblank},
    NamedClass{"cntrl", std::iscntrl}, NamedClass{"digit", std::isdigit}, NamedClass{"graph", std::isgraph},
    NamedClass{"lower", std::islower}, NamedClass{"print", std::isprint}, NamedClass{"punct", std::ispunct},
    NamedClass{"space", std::isspace}, NamedClass{"upper", std::isupper}, NamedClass{"xdigit", std::isxdigit},
};

}  // namespace

// Reads one "[...]". Quirks that rsync's users may rely on: ']' right after the opening (or its '!' or '^') is itself,
// '-' is itself at the end or after a range, '[:' without ':]' is itself, an unknown class name or a missing ']'
// makes the whole pattern match nothing.
class Glob::ClassParser {
 public:
  explicit ClassParser(std::string_view text) : m_text(text) {}

  // The set, or nothing if it is malformed; `used()` is then meaningless.
  std::optional<ByteSet> parse() {
    m_at = 1;
    const bool negated = at(m_at) == '!' || at(m_at) == '^';
    if (negated) ++m_at;
    do {
      if (!parse_member()) return std::nullopt;
    } while (at(m_at) != ']');
    ++m_at;
    if (negated) m_set.flip();
    m_set.reset('/');
    return m_set;
  }
  [[nodiscard]] std::size_t used() const { return m_at; }

 private:
  // 0 past the end: patterns contain no NUL.
  [[nodiscard]] unsigned char at(std::size_t i) const { return i < m_text.size() ? byte_at(m_text, i) : 0; }

  bool parse_member() {
    const unsigned char c = at(m_at);
    if (c == '-' && m_previous != 0 && at(m_at + 1) != 0 && at(m_at + 1) != ']') return parse_range();
    if (c == '[' && at(m_at + 1) == ':') return parse_named();
    return parse_byte();
  }

  // A byte or an escaped one.
  bool parse_byte() {
    if (at(m_at) == '\\') ++m_at;
    const unsigned char c = at(m_at);
    if (c == 0) return false;
    ++m_at;
    m_set.set(c);
    m_previous = c;
    return true;
  }

  bool parse_range() {
    const unsigned char first = m_previous;
    ++m_at;
    if (at(m_at) == '\\') ++m_at;
    const unsigned char last = at(m_at);
    if (last == 0) return false;
    ++m_at;
    for (unsigned c = first; c <= last; ++c) m_set.set(c);
    m_previous = 0;
    return true;
  }

  bool parse_named() {
    const std::size_t begin = m_at + 2;
    const std::size_t bracket = m_text.find(']', begin);
    if (bracket == std::string_view::npos) return false;
    if (bracket == begin || at(bracket - 1) != ':') return parse_byte();
    const std::string_view name = m_text.substr(begin, bracket - 1 - begin);
    m_at = bracket + 1;
    m_previous = 0;
    for (const NamedClass& known : k_classes) {
      if (known.name == name) return add_named(known.test);
    }
    return false;
  }

  // ASCII only, so that a pattern means the same in every locale.
  bool add_named(ClassTest test) {
    for (int c = 0; c < 128; ++c) {
      if (test(c) != 0) m_set.set(static_cast<std::size_t>(c));
    }
    return true;
  }

  std::string_view m_text;
  std::size_t m_at = 0;
  unsigned char m_previous = 0;  // the byte that a range would begin with, 0 if none may
  ByteSet m_set;
};

// The active states while a text is fed.
class Glob::Run {
 public:
  Run(const Glob& glob, Starts starts) : m_glob(glob), m_starts(starts) {
    std::fill_n(m_active.begin(), count(), false);
    m_active[0] = true;
    pass_stars();
  }

  // False once no state is left that could still match.
  bool feed(std::string_view text) {
    for (const char c : text) {
      step(static_cast<unsigned char>(c));
      if (!m_any && m_starts == Starts::at_begin) return false;
    }
    return true;
  }
  [[nodiscard]] bool matched() const { return m_active[m_glob.m_tokens.size()]; }

 private:
  [[nodiscard]] std::size_t count() const { return m_glob.m_tokens.size() + 1; }

  // From the last state down, so that each is still the old one when its successor is computed.
  void step(unsigned char byte) {
    const std::vector<Token>& tokens = m_glob.m_tokens;
    m_any = false;
    for (std::size_t i = tokens.size() + 1; i-- > 0;) {
      const bool stays = i < tokens.size() && m_active[i] && is_star(tokens[i]) && m_glob.accepts(tokens[i], byte);
      const bool enters = i > 0 && m_active[i - 1] && !is_star(tokens[i - 1]) && m_glob.accepts(tokens[i - 1], byte);
      m_active[i] = stays || enters;
      m_any = m_any || m_active[i];
    }
    if (byte == '/' && m_starts == Starts::at_every_component) m_active[0] = true;
    pass_stars();
  }

  // A star may match nothing.
  void pass_stars() {
    for (std::size_t i = 0; i < m_glob.m_tokens.size(); ++i) {
      if (m_active[i] && is_star(m_glob.m_tokens[i])) m_active[i + 1] = true;
    }
  }

  static bool is_star(const Token& token) { return token.kind == Kind::star || token.kind == Kind::star_star; }

  const Glob& m_glob;
  Starts m_starts;
  bool m_any = true;
  std::array<bool, k_max_pattern_bytes + 1> m_active;  // the first count() are in use
};

Glob::Glob(std::string_view pattern, Wildcards wildcards) {
  NB_ASSERT(pattern.size() <= k_max_pattern_bytes);
  while (!pattern.empty()) {
    std::size_t used = 1;
    if (wildcards == Wildcards::literal)
      push(Kind::byte, byte_at(pattern, 0));
    else
      used = compile_token(pattern);
    pattern.remove_prefix(used);
  }
}

std::size_t Glob::compile_token(std::string_view rest) {
  switch (rest[0]) {
    case '?': push(Kind::any); return 1;
    case '*': return compile_stars(rest);
    case '[': return compile_class(rest);
    case '\\':
      // Nothing follows to be taken as it is: matches nothing.
      if (rest.size() == 1)
        push(Kind::nothing);
      else
        push(Kind::byte, byte_at(rest, 1));
      return rest.size() == 1 ? 1 : 2;
    default: push(Kind::byte, byte_at(rest, 0)); return 1;
  }
}

std::size_t Glob::compile_stars(std::string_view rest) {
  std::size_t stars = rest.find_first_not_of('*');
  if (stars == std::string_view::npos) stars = rest.size();
  push(stars == 1 ? Kind::star : Kind::star_star);
  return stars;
}

std::size_t Glob::compile_class(std::string_view rest) {
  ClassParser parser(rest);
  const std::optional<ByteSet> set = parser.parse();
  if (!set) {
    push(Kind::nothing);
    return rest.size();
  }
  push(Kind::set, 0, static_cast<std::uint16_t>(m_sets.size()));
  m_sets.push_back(*set);
  return parser.used();
}

bool Glob::accepts(const Token& token, unsigned char byte) const {
  switch (token.kind) {
    case Kind::byte: return token.byte == byte;
    case Kind::any:
    case Kind::star: return byte != '/';
    case Kind::set: return m_sets[token.set].test(byte);
    case Kind::star_star: return true;
    case Kind::nothing: return false;
  }
  return false;
}

bool Glob::matches(std::string_view head, std::string_view text, std::string_view tail, Starts starts) const {
  Run run(*this, starts);
  return run.feed(head) && run.feed(text) && run.feed(tail) && run.matched();
}

}  // namespace nb::filter
