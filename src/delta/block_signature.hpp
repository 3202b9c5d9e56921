// SPDX-License-Identifier: Apache-2.0
// BlockSignature: what is known of one block of a basis, enough to find its content elsewhere; and BlockSigner, which
// computes it. Files are cut into blocks of 64 KiB and blocks into pages of 4 KiB, the last of each perhaps short.
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.hpp"
#include "hash/digest.hpp"
#include "hash/file_hasher.hpp"
#include "hash/secret.hpp"

namespace nb::delta {

using hash::k_block_bytes;
inline constexpr std::size_t k_page_bytes = 4096;
inline constexpr std::size_t k_block_pages = k_block_bytes / k_page_bytes;

struct BlockSignature {
  std::uint64_t weak = 0;                            // RollingSum
  hash::Digest strong;                               // as FileHasher computes it: the file's digest follows
  std::array<std::uint32_t, k_block_pages> pages{};  // hash::page_check_of each page; 0 for those that are not there
  friend bool operator==(const BlockSignature&, const BlockSignature&) = default;
};

class BlockSigner {
 public:
  // `secret` outlives the signer.
  explicit BlockSigner(const hash::Secret& secret);

  // Of 1 to k_block_bytes bytes (asserted).
  [[nodiscard]] BlockSignature sign(ByteView block) const;
  [[nodiscard]] hash::Digest strong(ByteView block) const { return hash::digest_of(block, *m_secret); }
  [[nodiscard]] std::uint32_t page(ByteView bytes) const { return hash::page_check_of(bytes, *m_secret); }
  // Of a whole block of zeros.
  [[nodiscard]] const BlockSignature& zeros() const { return m_zeros; }
  [[nodiscard]] const hash::Secret& secret() const { return *m_secret; }

 private:
  const hash::Secret* m_secret;
  BlockSignature m_zeros;
};

// Blocks and pages of a content of `bytes` bytes.
constexpr std::uint64_t blocks_in(std::uint64_t bytes) { return bytes / k_block_bytes + (bytes % k_block_bytes != 0); }
constexpr std::size_t pages_in(std::size_t bytes) { return (bytes + k_page_bytes - 1) / k_page_bytes; }
// Length of block `number` of a file of `size` bytes, which has that block.
constexpr std::size_t block_bytes(std::uint64_t size, std::uint64_t number) {
  const std::uint64_t left = size - number * k_block_bytes;
  return left < k_block_bytes ? static_cast<std::size_t>(left) : k_block_bytes;
}

}  // namespace nb::delta
