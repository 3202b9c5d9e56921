// SPDX-License-Identifier: Apache-2.0
// SignaturePiece: the block signatures of one GiB of a file, the unit in which signatures are sent, kept and loaded.
// docs/formats.md has its encoding. A piece of nothing but zeros holds no blocks, so that a sparse file of terabytes
// costs next to nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "delta/block_signature.hpp"

namespace nb::delta {

inline constexpr std::uint64_t k_piece_blocks = 16384;
inline constexpr std::uint64_t k_piece_bytes = k_piece_blocks * k_block_bytes;
inline constexpr std::size_t k_max_piece_blob_bytes = std::size_t{2} << 20;

constexpr std::uint64_t pieces_in(std::uint64_t file_bytes) {
  return file_bytes / k_piece_bytes + (file_bytes % k_piece_bytes != 0);
}

class SignaturePiece {
 public:
  // Empty, for the piece `index` of a file; `signer` is used for its zeros alone.
  SignaturePiece(std::uint64_t index, const BlockSigner& signer) : m_index(index), m_zeros(signer.zeros()) {}

  // Of blocks index * k_piece_blocks and on, of a file of `file_bytes` bytes, which has that piece (asserted). Anything
  // but the encoding of just these blocks is an error coded `code`: protocol from a peer, io from a database.
  static Result<SignaturePiece> decode(ByteView blob, std::uint64_t index, std::uint64_t file_bytes,
                                       const BlockSigner& signer, Errc code);
  // At most k_max_piece_blob_bytes. `file_bytes` as for decode; the piece is complete (asserted).
  [[nodiscard]] Bytes encode(std::uint64_t file_bytes) const;

  [[nodiscard]] std::uint64_t index() const { return m_index; }
  [[nodiscard]] std::uint64_t first_block() const { return m_index * k_piece_blocks; }
  [[nodiscard]] std::uint64_t size() const { return m_count; }  // in blocks
  [[nodiscard]] bool full() const { return m_count == k_piece_blocks; }
  // Whether it has the blocks that this piece of a file of this size has.
  [[nodiscard]] bool fits(std::uint64_t file_bytes) const;
  // Block number first_block() + i.
  [[nodiscard]] const BlockSignature& block(std::uint64_t i) const { return m_blocks.empty() ? m_zeros : m_blocks[i]; }
  [[nodiscard]] bool all_zeros() const { return m_blocks.empty(); }

  // Appending; not more than fits (asserted).
  void add(const BlockSignature& block);
  void add_zeros(std::uint64_t blocks);

 private:
  Status read_blocks(ByteReader& in, std::uint64_t count, std::uint64_t file_bytes);

  std::uint64_t m_index;
  std::uint64_t m_count = 0;
  BlockSignature m_zeros;
  std::vector<BlockSignature> m_blocks;  // m_count of them, or none while all are zeros
};

// The digest of the content of `file_bytes` bytes that these pieces are the signature of; nothing where one is missing,
// and for a content of one block, whose digest does not follow from it.
using PieceOf = std::function<std::optional<SignaturePiece>(std::uint64_t index)>;
std::optional<hash::Digest> digest_by_pieces(std::uint64_t file_bytes, const hash::Secret& secret,
                                             const PieceOf& piece);

}  // namespace nb::delta
