// SPDX-License-Identifier: Apache-2.0
// SignatureBuilder: fed with a content from front to back, it computes the file's digest (that of hash::FileHasher) and
// hands on each piece of its signature as it is finished. One piece at most is in memory.
#pragma once

#include <functional>

#include "delta/signature_piece.hpp"
#include "fs/directory.hpp"

namespace nb::delta {

class SignatureBuilder {
 public:
  using PieceTaker = std::function<Status(SignaturePiece)>;

  // `signer` outlives the builder. Without a `taker` only the digest is computed, which is cheaper. Its error ends the
  // call that finished the piece.
  explicit SignatureBuilder(const BlockSigner& signer, PieceTaker taker = {});

  // The next bytes.
  Status update(ByteView data);
  // The same with zeros, at next to no cost for whole blocks.
  Status update_zeros(std::uint64_t count);
  // The same with a whole block whose signature is known; only at_block_boundary() (asserted).
  Status update_block(const BlockSignature& block);
  // The digest of it all; the builder is spent afterwards.
  Result<hash::Digest> finish();

  [[nodiscard]] std::uint64_t size() const { return m_size; }
  [[nodiscard]] bool at_block_boundary() const { return m_size % k_block_bytes == 0; }

 private:
  Status add(const BlockSignature& block);
  Status hand_on_if_full();
  Status end_partial();
  Status add_to_partial(ByteView data);

  const BlockSigner& m_signer;
  PieceTaker m_taker;
  hash::FileHasher m_hasher;
  SignaturePiece m_piece;
  Bytes m_partial;  // the block begun last
  std::uint64_t m_size = 0;
};

// One piece of the signature of `file`, which has `file_bytes` bytes and that piece (asserted); holes are not read.
// Errc::changed if the file has become shorter.
Result<SignaturePiece> sign_piece(fs::File& file, std::uint64_t file_bytes, std::uint64_t index,
                                  const BlockSigner& signer);

}  // namespace nb::delta
