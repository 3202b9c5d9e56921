// SPDX-License-Identifier: Apache-2.0
#include "cache/sums.hpp"

#include <algorithm>

namespace nb::cache {

std::optional<std::int64_t> to_ns(fs::Timestamp time) {
  constexpr std::int64_t k_ns = 1'000'000'000;
  constexpr std::int64_t k_limit = 9'000'000'000;  // seconds; a little inside what 64 bits hold
  if (time.sec < -k_limit || time.sec > k_limit) return std::nullopt;
  return time.sec * k_ns + time.nsec;
}

ByteView blob_in(const SQLite::Column& column) {
  const int size = column.getBytes();
  if (size <= 0) return {};
  return {static_cast<const std::byte*>(column.getBlob()), static_cast<std::size_t>(size)};
}

std::optional<hash::Digest> digest_in(const SQLite::Column& column) {
  const ByteView bytes = blob_in(column);
  hash::Digest digest;
  if (bytes.size() != digest.bytes.size()) return std::nullopt;
  std::copy(bytes.begin(), bytes.end(), digest.bytes.begin());
  return digest;
}

void bind_blob(SQLite::Statement& statement, int index, ByteView data) {
  statement.bind(index, data.data(), static_cast<int>(data.size()));
}

std::int64_t piece_sum(ByteView owner, std::uint64_t piece, ByteView data) {
  Bytes head;
  ByteWriter out(head);
  out.blob(owner);
  out.u64(piece);
  return to_signed(hash::check_of(head, data));
}

}  // namespace nb::cache
