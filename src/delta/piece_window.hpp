// SPDX-License-Identifier: Apache-2.0
// PieceWindow: the part of a basis's signature that the matcher has at hand, a limited number of pieces around where it
// is, and the index over them. So memory does not depend on the size of files. Content that lies further away in the
// basis than the window reaches is not found.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "delta/signature_piece.hpp"
#include "delta/weak_index.hpp"

namespace nb::delta {

// Where the signature of a basis comes from: a cache, or the sink, which may take a while.
class BasisSignature {
 public:
  virtual ~BasisSignature() = default;
  // The piece with this number, which the basis has; null if it cannot be had: its range is then taken for unknown.
  // Each piece that is not kept is asked for when it is needed, and again if it is needed later. An error ends the matching.
  virtual Result<std::shared_ptr<const SignaturePiece>> piece(std::uint64_t index) = 0;
};

class PieceWindow {
 public:
  // `source` outlives the window; at most `max_pieces`, 1 or more, are kept.
  PieceWindow(BasisSignature& source, std::uint64_t basis_bytes, std::size_t max_pieces);

  // The signature of a block of the basis, loading its piece; null if it cannot be had. Valid until the next call.
  Result<const BlockSignature*> block(std::uint64_t number);
  // The same without loading.
  [[nodiscard]] const BlockSignature* held(std::uint64_t number) const;
  // Makes the index cover the surroundings of this block, mostly what comes after it.
  Status surround(std::uint64_t number);
  [[nodiscard]] const WeakIndex& index() const { return m_index; }

 private:
  using Piece = std::shared_ptr<const SignaturePiece>;
  Result<Piece> load(std::uint64_t index);
  void evict_far_from(std::uint64_t index);
  void rebuild_index();
  void add_to_index(const SignaturePiece& piece);

  BasisSignature& m_source;
  std::uint64_t m_basis_bytes;
  std::size_t m_max_pieces;
  std::map<std::uint64_t, Piece> m_pieces;  // null: known not to be had
  WeakIndex m_index;
  bool m_indexed = false;
  std::uint64_t m_low = 0;   // the pieces that the index covers,
  std::uint64_t m_high = 0;  // both included
};

}  // namespace nb::delta
