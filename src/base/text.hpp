// SPDX-License-Identifier: Apache-2.0
// Small text helpers shared by messages, records and options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"

namespace nb {

// `raw` so that it is safe on a terminal and unambiguous: control characters, backslash and bytes that are not valid
// UTF-8 become \ooo (octal, as rsync prints them).
std::string escape(std::string_view raw);

// The same for text that is lines already and means its backslashes: those, tabs and line ends stay.
std::string escape_controls(std::string_view raw);

// Lower-case hexadecimal, two digits a byte; and back (nothing if `text` is not exactly that).
std::string to_hex(ByteView bytes);
std::optional<Bytes> from_hex(std::string_view text);

// A whole decimal number, nothing else around it.
std::optional<std::uint64_t> parse_u64(std::string_view text);

// Equal but for the case of ASCII letters.
bool equals_ignoring_case(std::string_view a, std::string_view b);

// Without the blanks, tabs and carriage returns at both ends.
std::string_view trim(std::string_view text);

// As many bytes of UTF-8 text as there may be, without half of a character at the end.
std::string_view begin_of(std::string_view text, std::size_t most);

// The pieces between `separator`s; an empty text has one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

}  // namespace nb
