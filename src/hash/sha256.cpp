// SPDX-License-Identifier: Apache-2.0
#include "hash/sha256.hpp"

#include <openssl/evp.h>

#include <array>
#include <new>

#include "base/text.hpp"

namespace nb::hash {

std::string sha256_hex(ByteView data) {
  constexpr std::size_t k_sum_bytes = 32;
  std::array<std::byte, k_sum_bytes> sum{};
  auto* const out = reinterpret_cast<unsigned char*>(sum.data());
  // It fails for want of memory alone.
  if (EVP_Digest(data.data(), data.size(), out, nullptr, EVP_sha256(), nullptr) != 1) throw std::bad_alloc();
  return to_hex(sum);
}

}  // namespace nb::hash
