// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <algorithm>
#include <charconv>

namespace nb {
namespace {

// Length of the valid UTF-8 sequence at the start of `text` (RFC 3629), 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates and values past U+10FFFF differ in the second byte only.
  if ((lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) > 0x8F)) return 0;
  // C1 control characters are as dangerous to a terminal as the C0 ones.
  if (lead == 0xC2 && at(1) < 0xA0) return 0;
  return length;
}

void append_octal(std::string& out, unsigned char byte) {
  out += '\\';
  out += static_cast<char>('0' + (byte >> 6));
  out += static_cast<char>('0' + ((byte >> 3) & 7));
  out += static_cast<char>('0' + (byte & 7));
}

// `kept`: ASCII characters that stay.
std::string escape_but(std::string_view raw, std::string_view kept) {
  std::string out;
  out.reserve(raw.size());
  while (!raw.empty()) {
    const auto lead = static_cast<unsigned char>(raw[0]);
    const std::size_t length = utf8_length(raw);
    const bool is_special = length == 0 || lead < 0x20 || lead == 0x7F || lead == '\\';
    if (is_special && kept.find(raw[0]) == std::string_view::npos) {
      append_octal(out, lead);
      raw.remove_prefix(1);
    } else {
      out.append(raw.substr(0, length));
      raw.remove_prefix(length);
    }
  }
  return out;
}

std::optional<unsigned> hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0');
  if (digit >= 'a' && digit <= 'f') return static_cast<unsigned>(digit - 'a' + 10);
  return std::nullopt;
}

}  // namespace

std::string escape(std::string_view raw) { return escape_but(raw, ""); }

std::string escape_controls(std::string_view raw) { return escape_but(raw, "\\\t\n"); }

std::string to_hex(ByteView bytes) {
  constexpr std::string_view k_digits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    out += k_digits[static_cast<unsigned>(b) >> 4];
    out += k_digits[static_cast<unsigned>(b) & 15];
  }
  return out;
}

std::optional<Bytes> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  Bytes out;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const auto high = hex_value(text[i]);
    const auto low = hex_value(text[i + 1]);
    if (!high || !low) return std::nullopt;
    out.push_back(static_cast<std::byte>(*high << 4 | *low));
  }
  return out;
}

std::optional<std::uint64_t> parse_u64(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view k_blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(k_blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(k_blanks) - first + 1);
}

std::string_view begin_of(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  const auto continues = [](char each) { return (static_cast<unsigned char>(each) & 0xC0U) == 0x80U; };
  while (most > 0 && continues(text[most])) --most;
  return text.substr(0, most);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t at = text.find(separator);
    pieces.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return pieces;
    text.remove_prefix(at + 1);
  }
}

}  // namespace nb
