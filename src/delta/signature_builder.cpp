// SPDX-License-Identifier: Apache-2.0
#include "delta/signature_builder.hpp"

#include <algorithm>
#include <array>

#include "base/assert.hpp"

namespace nb::delta {

SignatureBuilder::SignatureBuilder(const BlockSigner& signer, PieceTaker taker)
    : m_signer(signer), m_taker(std::move(taker)), m_hasher(signer.secret()), m_piece(0, signer) {
  if (m_taker) m_partial.reserve(k_block_bytes);
}

Status SignatureBuilder::hand_on_if_full() {
  if (!m_piece.full()) return {};
  const std::uint64_t next = m_piece.index() + 1;
  return m_taker(std::exchange(m_piece, SignaturePiece(next, m_signer)));
}

Status SignatureBuilder::add(const BlockSignature& block) {
  m_hasher.update_block_digest(block.strong);
  m_piece.add(block);
  return hand_on_if_full();
}

Status SignatureBuilder::add_to_partial(ByteView data) {
  m_partial.insert(m_partial.end(), data.begin(), data.end());
  if (m_partial.size() < k_block_bytes) return {};
  const BlockSignature block = m_signer.sign(m_partial);
  m_partial.clear();
  return add(block);
}

Status SignatureBuilder::update(ByteView data) {
  m_size += data.size();
  if (!m_taker) {
    m_hasher.update(data);
    return {};
  }
  while (!data.empty()) {
    const std::size_t take = std::min(data.size(), k_block_bytes - m_partial.size());
    const ByteView head = data.first(take);
    NB_TRY(take == k_block_bytes ? add(m_signer.sign(head)) : add_to_partial(head));
    data = data.subspan(take);
  }
  return {};
}

Status SignatureBuilder::update_zeros(std::uint64_t count) {
  static constexpr std::array<std::byte, k_block_bytes> k_zeros{};
  const std::uint64_t to_boundary = (k_block_bytes - m_size % k_block_bytes) % k_block_bytes;
  const std::uint64_t head = std::min(count, to_boundary);
  NB_TRY(update(ByteView(k_zeros).first(static_cast<std::size_t>(head))));
  count -= head;
  std::uint64_t blocks = count / k_block_bytes;
  m_size += blocks * k_block_bytes;
  m_hasher.update_zeros(blocks * k_block_bytes);
  while (m_taker && blocks > 0) {
    const std::uint64_t take = std::min(blocks, k_piece_blocks - m_piece.size());
    m_piece.add_zeros(take);
    NB_TRY(hand_on_if_full());
    blocks -= take;
  }
  return update(ByteView(k_zeros).first(static_cast<std::size_t>(count % k_block_bytes)));
}

Status SignatureBuilder::update_block(const BlockSignature& block) {
  NB_ASSERT(at_block_boundary());
  m_size += k_block_bytes;
  if (m_taker) return add(block);
  m_hasher.update_block_digest(block.strong);
  return {};
}

Status SignatureBuilder::end_partial() {
  if (m_partial.empty()) return {};
  const BlockSignature block = m_signer.sign(m_partial);
  m_hasher.update_block_digest(block.strong, m_partial.size());
  m_piece.add(block);
  return {};
}

Result<hash::Digest> SignatureBuilder::finish() {
  NB_TRY(end_partial());
  if (m_taker && m_piece.size() > 0) NB_TRY(m_taker(std::move(m_piece)));
  return m_hasher.finish();
}

namespace {

// Bytes [from, to) of the file, into `out`.
Status read_into(fs::File& file, std::uint64_t from, std::span<std::byte> out) {
  while (!out.empty()) {
    NB_TRY_ASSIGN(const std::size_t got, file.read_at(from, out));
    if (got == 0) return fail(Errc::changed, "read: the file has become shorter");
    out = out.subspan(got);
    from += got;
  }
  return {};
}

// The next data at or after `at`, cut at `end`; of no length there if there is none before.
Result<fs::Extent> data_from(fs::File& file, std::uint64_t at, std::uint64_t end) {
  NB_TRY_ASSIGN(const std::optional<fs::Extent> data, file.next_data(at));
  const std::uint64_t begin = data ? std::clamp(data->offset, at, end) : end;
  return fs::Extent{begin, data ? std::min(data->length, end - begin) : 0};
}

}  // namespace

Result<SignaturePiece> sign_piece(fs::File& file, std::uint64_t file_bytes, std::uint64_t index,
                                  const BlockSigner& signer) {
  NB_ASSERT(index < pieces_in(file_bytes));
  SignaturePiece piece(index, signer);
  const std::uint64_t end = std::min(file_bytes, (index + 1) * k_piece_bytes);
  Bytes buffer(k_block_bytes);
  fs::Extent data;
  for (std::uint64_t at = index * k_piece_bytes; at < end;) {
    // Asked once for each stretch: some file systems look through all of it for the answer.
    if (at >= data.offset + data.length) {
      NB_TRY_ASSIGN(data, data_from(file, at, end));
    }
    const std::uint64_t hole_blocks = data.offset > at ? (data.offset - at) / k_block_bytes : 0;
    piece.add_zeros(hole_blocks);
    at += hole_blocks * k_block_bytes;
    if (at >= end) break;
    const auto block = std::span(buffer).first(block_bytes(file_bytes, at / k_block_bytes));
    NB_TRY(read_into(file, at, block));
    piece.add(signer.sign(block));
    at += block.size();
  }
  return piece;
}

}  // namespace nb::delta
