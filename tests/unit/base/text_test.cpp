// SPDX-License-Identifier: Apache-2.0
#include "base/text.hpp"

#include <catch2/catch.hpp>

using namespace nb;

TEST_CASE("escaping leaves text alone and disarms everything else", "[base]") {
  CHECK(escape("plain name") == "plain name");
  CHECK(escape("h\xC3\xA9llo \xE2\x82\xAC \xF0\x9F\x90\xA7") == "h\xC3\xA9llo \xE2\x82\xAC \xF0\x9F\x90\xA7");
  CHECK(escape("a\nb\x1B[31m") == "a\\012b\\033[31m");
  CHECK(escape("back\\slash") == "back\\134slash");
  CHECK(escape("\xFF\xC3") == "\\377\\303");
  CHECK(escape("\xC0\xAF") == "\\300\\257");           // overlong
  CHECK(escape("\xED\xA0\x80") == "\\355\\240\\200");  // surrogate
  CHECK(escape("\xC2\x9B") == "\\302\\233");           // C1 control
}

TEST_CASE("hexadecimal both ways", "[base]") {
  const Bytes bytes{std::byte{0}, std::byte{0xAB}, std::byte{0xFF}};
  CHECK(to_hex(bytes) == "00abff");
  CHECK(from_hex("00abff").value() == bytes);
  CHECK_FALSE(from_hex("0").has_value());
  CHECK_FALSE(from_hex("0g").has_value());
}

TEST_CASE("numbers and pieces", "[base]") {
  CHECK(parse_u64("18446744073709551615").value() == 18446744073709551615U);
  CHECK_FALSE(parse_u64("18446744073709551616").has_value());
  CHECK_FALSE(parse_u64("").has_value());
  CHECK_FALSE(parse_u64("1 ").has_value());
  CHECK_FALSE(parse_u64("-1").has_value());
  CHECK(split("a,,b", ',') == std::vector<std::string_view>{"a", "", "b"});
  CHECK(split("", ',') == std::vector<std::string_view>{""});
}

TEST_CASE("trimmed at both ends", "[base]") {
  CHECK(trim(" \ta b\r") == "a b");
  CHECK(trim("a") == "a");
  CHECK(trim(" \t").empty());
  CHECK(trim("").empty());
}

TEST_CASE("equal but for the case of ASCII letters", "[base]") {
  CHECK(equals_ignoring_case(".nBackup", ".NbACKUP"));
  CHECK(equals_ignoring_case("", ""));
  CHECK_FALSE(equals_ignoring_case("a", "ab"));
  CHECK_FALSE(equals_ignoring_case("@", "`"));
  CHECK_FALSE(equals_ignoring_case("[", "{"));
  CHECK_FALSE(equals_ignoring_case("\xc3\x84", "\xc3\xa4"));
}

TEST_CASE("escape_controls leaves lines and backslashes", "[base]") {
  CHECK(escape_controls("a\\012b\tc\nd") == "a\\012b\tc\nd");
  CHECK(escape_controls("\x1b[31m\r\x7f") == "\\033[31m\\015\\177");
  CHECK(escape_controls("\xFF\xC2\x9B\xC3\xA4") == "\\377\\302\\233\xC3\xA4");
  CHECK(escape_controls(std::string_view("\0x", 2)) == "\\000x");
}
