// SPDX-License-Identifier: Apache-2.0
// Secret: the key of every digest of one file set, so that nobody who does not hold it can prepare two contents that
// look the same. 32 random bytes are kept and sent; the 192 bytes XXH3 wants are derived from them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/bytes.hpp"

namespace nb::hash {

inline constexpr std::size_t k_secret_bytes = 32;

class Secret {
 public:
  // Random, from the kernel.
  static Result<Secret> generate();
  // From the stored or received form; `stored` has exactly k_secret_bytes.
  static Result<Secret> from_bytes(ByteView stored, Errc code);

  [[nodiscard]] ByteView stored() const { return m_stored; }
  [[nodiscard]] ByteView expanded() const { return m_expanded; }  // for XXH3_*_withSecret
  // Names the secret without giving it away; the key under which caches file their digests.
  [[nodiscard]] std::uint64_t id() const;

 private:
  explicit Secret(ByteView stored);
  std::array<std::byte, k_secret_bytes> m_stored{};
  std::array<std::byte, 192> m_expanded{};
};

}  // namespace nb::hash
