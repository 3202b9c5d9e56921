// SPDX-License-Identifier: Apache-2.0
#include "delta/piece_window.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace nb::delta {

PieceWindow::PieceWindow(BasisSignature& source, std::uint64_t basis_bytes, std::size_t max_pieces)
    : m_source(source), m_basis_bytes(basis_bytes), m_max_pieces(max_pieces) {
  NB_ASSERT(max_pieces > 0);
  m_index.reset(0, 0);
}

// The one at either end goes, whichever is further away.
void PieceWindow::evict_far_from(std::uint64_t index) {
  const auto distance = [index](std::uint64_t other) { return other > index ? other - index : index - other; };
  const auto first = m_pieces.begin();
  const auto last = std::prev(m_pieces.end());
  m_pieces.erase(distance(first->first) >= distance(last->first) ? first : last);
}

Result<PieceWindow::Piece> PieceWindow::load(std::uint64_t index) {
  const auto known = m_pieces.find(index);
  if (known != m_pieces.end()) return known->second;
  if (m_pieces.size() == m_max_pieces) evict_far_from(index);
  NB_TRY_ASSIGN(Piece piece, m_source.piece(index));
  if (piece && (piece->index() != index || !piece->fits(m_basis_bytes))) {
    return fail(Errc::protocol, "signature: not of this basis");
  }
  m_pieces[index] = piece;
  return piece;
}

Result<const BlockSignature*> PieceWindow::block(std::uint64_t number) {
  NB_TRY_ASSIGN(const Piece piece, load(number / k_piece_blocks));
  return piece ? &piece->block(number % k_piece_blocks) : nullptr;
}

const BlockSignature* PieceWindow::held(std::uint64_t number) const {
  const auto piece = m_pieces.find(number / k_piece_blocks);
  if (piece == m_pieces.end() || !piece->second) return nullptr;
  return &piece->second->block(number % k_piece_blocks);
}

// A quarter of the window lies behind. It moves once less than a quarter is ahead, and by half a window at least, so
// that each piece is loaded a few times at most however the matcher jumps.
Status PieceWindow::surround(std::uint64_t number) {
  const std::uint64_t center = number / k_piece_blocks;
  const std::uint64_t last = pieces_in(m_basis_bytes) - 1;
  const std::uint64_t quarter = m_max_pieces / 4;
  if (m_indexed && center >= m_low && (m_high == last || center + quarter <= m_high)) return {};
  m_high = std::min(last, center - std::min(center, quarter) + m_max_pieces - 1);
  m_low = m_high + 1 - std::min<std::uint64_t>(m_high + 1, m_max_pieces);
  std::erase_if(m_pieces, [this](const auto& entry) { return entry.first < m_low || entry.first > m_high; });
  for (std::uint64_t index = m_low; index <= m_high; ++index) NB_TRY(load(index));
  rebuild_index();
  m_indexed = true;
  return {};
}

void PieceWindow::rebuild_index() {
  std::uint64_t blocks = 0;
  for (const auto& [index, piece] : m_pieces) blocks = (index - m_low) * k_piece_blocks + (piece ? piece->size() : 0);
  m_index.reset(m_low * k_piece_blocks, blocks);
  for (const auto& [index, piece] : m_pieces) {
    if (piece) add_to_index(*piece);
  }
}

// A short block at the end is not in the index: the sums are those of whole blocks.
void PieceWindow::add_to_index(const SignaturePiece& piece) {
  const std::uint64_t whole_blocks = m_basis_bytes / k_block_bytes;
  const std::uint64_t count = piece.all_zeros() ? 1 : piece.size();
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t number = piece.first_block() + i;
    if (number < whole_blocks) m_index.add(number, piece.block(i));
  }
}

}  // namespace nb::delta
