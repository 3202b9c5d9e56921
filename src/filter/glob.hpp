// SPDX-License-Identifier: Apache-2.0
// Glob: one wildcard text of rsync's ("PATTERN MATCHING RULES" in its manual), compiled. '*' stays within a component,
// '**' does not, '?' is one byte except '/', '[...]' is a class, '\' takes the next byte as it is. Matching walks all
// states at once, so that its time is at most text times pattern, whatever they are. Bytes, not characters.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

namespace nb::filter {

inline constexpr std::size_t k_max_pattern_bytes = 4095;

enum class Wildcards : std::uint8_t { active, literal };  // literal: every byte stands for itself
enum class Starts : std::uint8_t { at_begin, at_every_component };

class Glob {
 public:
  // `pattern` has at most k_max_pattern_bytes (asserted). A malformed class makes a Glob that matches nothing, as with
  // rsync.
  Glob(std::string_view pattern, Wildcards wildcards);

  // True if the whole of head + text + tail matches; with at_every_component, a part of it that begins after a '/'
  // and goes to the end may match too.
  [[nodiscard]] bool matches(std::string_view head, std::string_view text, std::string_view tail, Starts starts) const;

 private:
  using ByteSet = std::bitset<256>;
  enum class Kind : std::uint8_t { byte, any, set, star, star_star, nothing };
  struct Token {
    Kind kind{};
    unsigned char byte = 0;
    std::uint16_t set = 0;  // index into m_sets
  };
  class ClassParser;
  class Run;

  std::size_t compile_token(std::string_view rest);
  std::size_t compile_class(std::string_view rest);
  std::size_t compile_stars(std::string_view rest);
  void push(Kind kind, unsigned char byte = 0, std::uint16_t set = 0) { m_tokens.push_back({kind, byte, set}); }
  [[nodiscard]] bool accepts(const Token& token, unsigned char byte) const;

  std::vector<Token> m_tokens;
  std::vector<ByteSet> m_sets;
};

}  // namespace nb::filter
