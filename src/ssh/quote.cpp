// SPDX-License-Identifier: Apache-2.0
// Splitting and quoting of command lines.
#include "ssh/quote.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace nb::ssh {
namespace {

constexpr std::string_view k_blanks = " \t\n";

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:,+@%").find(c) != std::string_view::npos;
}

// Reads one quoted stretch that starts behind its opening quote; returns the index behind its closing one, or npos.
std::size_t read_quoted(std::string_view text, std::size_t at, char quote, std::string& word) {
  for (; at < text.size(); ++at) {
    if (text[at] != quote) {
      word += text[at];
    } else if (at + 1 < text.size() && text[at + 1] == quote) {
      word += quote;
      ++at;
    } else {
      return at + 1;
    }
  }
  return std::string_view::npos;
}

// Reads one word that starts at `at`, a position that is not blank; same result.
std::size_t read_word(std::string_view text, std::size_t at, std::string& word) {
  while (at < text.size() && k_blanks.find(text[at]) == std::string_view::npos) {
    const char c = text[at++];
    if (c != '\'' && c != '"') {
      word += c;
      continue;
    }
    at = read_quoted(text, at, c, word);
    if (at == std::string_view::npos) return at;
  }
  return at;
}

}  // namespace

Result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> words;
  std::size_t at = text.find_first_not_of(k_blanks);
  while (at < text.size()) {
    std::string word;
    at = read_word(text, at, word);
    if (at == std::string_view::npos) return fail(Errc::usage, "open quote in '" + std::string(text) + "'");
    words.push_back(std::move(word));
    at = text.find_first_not_of(k_blanks, at);
  }
  if (words.empty() || words.front().empty()) return fail(Errc::usage, "empty remote shell command");
  return words;
}

std::string shell_quote(std::string_view word) {
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_command(const std::vector<std::string>& words) {
  std::string command;
  for (const std::string& word : words) {
    if (!command.empty()) command += ' ';
    command += shell_quote(word);
  }
  return command;
}

}  // namespace nb::ssh
