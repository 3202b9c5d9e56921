// SPDX-License-Identifier: Apache-2.0
// FileHasher: a file's digest, as docs/formats.md defines it. Up to one block (64 KiB) it is the keyed XXH3-128 of the
// content; above, the keyed XXH3-128 over the digests of its blocks, so that blocks can be checked on their own.
// Used wherever content is read or written; one object per file, not thread-safe.
#pragma once

#include <cstdint>
#include <memory>

#include "hash/digest.hpp"

namespace nb::hash {

inline constexpr std::size_t k_block_bytes = std::size_t{64} * 1024;

class FileHasher {
 public:
  // `secret` outlives the hasher.
  explicit FileHasher(const Secret& secret);
  ~FileHasher();
  FileHasher(FileHasher&&) noexcept;
  FileHasher& operator=(FileHasher&&) noexcept;

  // The next bytes of the file, in order.
  void update(ByteView data);
  // The same as update() with `count` zero bytes, at a fraction of the cost for whole blocks: holes.
  void update_zeros(std::uint64_t count);
  // The same as update() with a block whose digest is known. Only at a block boundary (asserted). `bytes` is
  // k_block_bytes, or 1 or more for the last block of the file, after which nothing may follow (asserted).
  void update_block_digest(const Digest& digest, std::size_t bytes = k_block_bytes);
  // The digest of all bytes so far; the hasher is spent afterwards.
  Digest finish();
  [[nodiscard]] std::uint64_t size() const { return m_size; }

 private:
  void end_block();
  struct BlockState;
  const Secret* m_secret;
  std::unique_ptr<BlockState> m_state;
  std::uint64_t m_size = 0;
};

}  // namespace nb::hash
