// SPDX-License-Identifier: Apache-2.0
// What the tables have in common: times as one integer, blobs, and the sum that stands in each row over all of it. A
// row that does not fit its sum is no row: SQLite does not notice a page that is wrong in itself.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>

#include "fs/stat.hpp"
#include "hash/digest.hpp"

namespace nb::cache {

// SQLite's integers are signed; all 64 bits survive the way there and back.
inline std::int64_t to_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }
inline std::uint64_t to_unsigned(std::int64_t value) { return static_cast<std::uint64_t>(value); }

// Nanoseconds since 1970; nothing for times that do not fit (before 1677, after 2262).
std::optional<std::int64_t> to_ns(fs::Timestamp time);

// Exactly sized, or nothing.
std::optional<hash::Digest> digest_in(const SQLite::Column& column);
void bind_blob(SQLite::Statement& statement, int index, ByteView data);
// The bytes live until the statement moves on.
ByteView blob_in(const SQLite::Column& column);

// Of a row of pieces: who it belongs to, which piece it is, and its data.
std::int64_t piece_sum(ByteView owner, std::uint64_t piece, ByteView data);

}  // namespace nb::cache
