// SPDX-License-Identifier: Apache-2.0
#include "hash/digest.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace nb::hash {

Result<Digest> Digest::read(ByteReader& in) {
  NB_TRY_ASSIGN(const ByteView raw, in.raw(k_digest_bytes));
  Digest digest;
  std::copy(raw.begin(), raw.end(), digest.bytes.begin());
  return digest;
}

namespace {

Digest canonical_of(const XXH128_hash_t& value) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, value);
  Digest digest;
  std::memcpy(digest.bytes.data(), canonical.digest, k_digest_bytes);
  return digest;
}

}  // namespace

Digest digest_of(ByteView data, const Secret& secret) {
  const ByteView key = secret.expanded();
  return canonical_of(XXH3_128bits_withSecret(data.data(), data.size(), key.data(), key.size()));
}

Digest fingerprint_of(ByteView data) { return canonical_of(XXH3_128bits(data.data(), data.size())); }

std::uint32_t page_check_of(ByteView page, const Secret& secret) {
  const ByteView key = secret.expanded();
  return static_cast<std::uint32_t>(XXH3_64bits_withSecret(page.data(), page.size(), key.data(), key.size()));
}

std::uint64_t check_of(ByteView data) { return XXH3_64bits(data.data(), data.size()); }

std::uint64_t check_of(ByteView head, ByteView tail) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), XXH3_freeState);
  XXH3_64bits_reset(state.get());
  XXH3_64bits_update(state.get(), head.data(), head.size());
  XXH3_64bits_update(state.get(), tail.data(), tail.size());
  return XXH3_64bits_digest(state.get());
}

}  // namespace nb::hash
