// SPDX-License-Identifier: Apache-2.0
#include "hash/secret.hpp"

#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "base/random.hpp"

namespace nb::hash {

// Word i of the expanded form is the XXH3-64 of the stored form with seed i. XXH3_generateSecret would do the same job,
// but it is no stable interface, and every digest on every disk depends on this.
Secret::Secret(ByteView stored) {
  std::copy(stored.begin(), stored.end(), m_stored.begin());
  for (std::uint64_t i = 0; i * sizeof i < m_expanded.size(); ++i) {
    const std::uint64_t word = XXH3_64bits_withSeed(m_stored.data(), m_stored.size(), i);
    std::memcpy(m_expanded.data() + i * sizeof word, &word, sizeof word);
  }
}

Result<Secret> Secret::generate() {
  std::array<std::byte, k_secret_bytes> bytes{};
  NB_TRY(random_bytes(bytes));
  return Secret(bytes);
}

Result<Secret> Secret::from_bytes(ByteView stored, Errc code) {
  if (stored.size() != k_secret_bytes) return fail(code, "secret has the wrong length");
  return Secret(stored);
}

std::uint64_t Secret::id() const {
  constexpr std::string_view k_label = "nbackup secret id";
  return XXH3_64bits_withSecret(k_label.data(), k_label.size(), m_expanded.data(), m_expanded.size());
}

}  // namespace nb::hash
