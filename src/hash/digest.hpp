// SPDX-License-Identifier: Apache-2.0
// Digest: the 128-bit XXH3 value that stands for a content, keyed by the file set's Secret; and the unkeyed 64-bit
// checks of frames and records. XXH3: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "base/bytes.hpp"
#include "hash/secret.hpp"

namespace nb::hash {

inline constexpr std::size_t k_digest_bytes = 16;

struct Digest {
  std::array<std::byte, k_digest_bytes> bytes{};  // XXH128 canonical (big-endian) form

  static Result<Digest> read(ByteReader& in);
  void write(ByteWriter& out) const { out.raw(bytes); }
  friend auto operator<=>(const Digest&, const Digest&) = default;
};

Digest digest_of(ByteView data, const Secret& secret);

// XXH3-128 without a key, for what this machine alone tells itself.
Digest fingerprint_of(ByteView data);

// 32 bits of the keyed XXH3-64: whether a page of a basis is likely the same. One pair in 2^32 is taken for equal, which
// the digest of the whole content shows.
std::uint32_t page_check_of(ByteView page, const Secret& secret);

// XXH3-64 without a key: catches accidents, not attackers.
std::uint64_t check_of(ByteView data);
std::uint64_t check_of(ByteView head, ByteView tail);  // of both, as if joined

}  // namespace nb::hash
