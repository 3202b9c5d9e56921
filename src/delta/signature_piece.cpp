// SPDX-License-Identifier: Apache-2.0
#include "delta/signature_piece.hpp"

#include <algorithm>

#include "base/assert.hpp"
#include "hash/file_hasher.hpp"

namespace nb::delta {
namespace {

constexpr std::uint8_t k_format = 1;
constexpr std::uint64_t k_run_zeros = 1;  // lowest bit of a run's head; the others are its number of blocks

// Blocks of piece `index`; 0 if the file has no such piece.
std::uint64_t expected_blocks(std::uint64_t index, std::uint64_t file_bytes) {
  const std::uint64_t all = blocks_in(file_bytes);
  const std::uint64_t first = index * k_piece_blocks;
  return first >= all ? 0 : std::min(all - first, k_piece_blocks);
}

void write_block(ByteWriter& out, const BlockSignature& block, std::size_t pages) {
  out.u64(block.weak);
  block.strong.write(out);
  for (std::size_t i = 0; i < pages; ++i) out.u32(block.pages[i]);
}

Result<BlockSignature> read_block(ByteReader& in, std::size_t pages) {
  BlockSignature block;
  NB_TRY_ASSIGN(block.weak, in.u64());
  NB_TRY_ASSIGN(block.strong, hash::Digest::read(in));
  for (std::size_t i = 0; i < pages; ++i) {
    NB_TRY_ASSIGN(block.pages[i], in.u32());
  }
  return block;
}

}  // namespace

bool SignaturePiece::fits(std::uint64_t file_bytes) const { return m_count == expected_blocks(m_index, file_bytes); }

void SignaturePiece::add(const BlockSignature& block) {
  NB_ASSERT(m_count < k_piece_blocks);
  if (m_blocks.empty()) {
    if (block == m_zeros) return add_zeros(1);
    m_blocks.assign(m_count, m_zeros);
  }
  m_blocks.push_back(block);
  ++m_count;
}

void SignaturePiece::add_zeros(std::uint64_t blocks) {
  NB_ASSERT(blocks <= k_piece_blocks - m_count);
  m_count += blocks;
  if (!m_blocks.empty()) m_blocks.resize(m_count, m_zeros);
}

Bytes SignaturePiece::encode(std::uint64_t file_bytes) const {
  NB_ASSERT(fits(file_bytes));
  Bytes blob;
  ByteWriter out(blob);
  out.u8(k_format);
  for (std::uint64_t at = 0; at < m_count;) {
    const bool zeros = block(at) == m_zeros;
    std::uint64_t end = all_zeros() ? m_count : at + 1;
    while (end < m_count && (block(end) == m_zeros) == zeros) ++end;
    out.varint((end - at) << 1 | (zeros ? k_run_zeros : 0));
    for (; !zeros && at < end; ++at) write_block(out, block(at), pages_in(block_bytes(file_bytes, first_block() + at)));
    at = end;
  }
  NB_ASSERT(blob.size() <= k_max_piece_blob_bytes);
  return blob;
}

Status SignaturePiece::read_blocks(ByteReader& in, std::uint64_t count, std::uint64_t file_bytes) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t bytes = block_bytes(file_bytes, first_block() + m_count);
    NB_TRY_ASSIGN(const BlockSignature block, read_block(in, pages_in(bytes)));
    add(block);
  }
  return {};
}

Result<SignaturePiece> SignaturePiece::decode(ByteView blob, std::uint64_t index, std::uint64_t file_bytes,
                                              const BlockSigner& signer, Errc code) {
  NB_ASSERT(index < pieces_in(file_bytes));
  ByteReader in(blob, code, "signature");
  if (blob.size() > k_max_piece_blob_bytes) return in.bad("too long");
  NB_TRY_ASSIGN(const std::uint8_t format, in.u8());
  if (format != k_format) return in.bad("unknown format");
  SignaturePiece piece(index, signer);
  const std::uint64_t expected = expected_blocks(index, file_bytes);
  while (piece.m_count < expected) {
    NB_TRY_ASSIGN(const std::uint64_t head, in.varint());
    const std::uint64_t count = head >> 1;
    if (count == 0 || count > expected - piece.m_count) return in.bad("run out of range");
    if ((head & k_run_zeros) == 0) {
      NB_TRY(piece.read_blocks(in, count, file_bytes));
      continue;
    }
    // A short block at the end is always spelled out, so that a run means whole blocks.
    const std::uint64_t last = piece.first_block() + piece.m_count + count - 1;
    if (block_bytes(file_bytes, last) < k_block_bytes) return in.bad("zeros beyond the end");
    piece.add_zeros(count);
  }
  if (!in.at_end()) return in.bad("bytes left over");
  return piece;
}

std::optional<hash::Digest> digest_by_pieces(std::uint64_t file_bytes, const hash::Secret& secret,
                                             const PieceOf& piece) {
  if (file_bytes <= k_block_bytes) return std::nullopt;
  hash::FileHasher hasher(secret);
  for (std::uint64_t index = 0; index < pieces_in(file_bytes); ++index) {
    const auto signed_piece = piece(index);
    if (!signed_piece) return std::nullopt;
    for (std::uint64_t i = 0; i < signed_piece->size(); ++i) {
      const std::size_t bytes = block_bytes(file_bytes, signed_piece->first_block() + i);
      hasher.update_block_digest(signed_piece->block(i).strong, bytes);
    }
  }
  return hasher.finish();
}

}  // namespace nb::delta
