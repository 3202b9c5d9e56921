// SPDX-License-Identifier: Apache-2.0
// Pieces of signatures: the first three bytes of the input are the size of the file, the rest a blob. What decodes must
// encode to something that decodes to the same.
#include "delta/signature_piece.hpp"
#include "fuzz/fuzz.hpp"

using namespace nb;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  static const auto secret = hash::Secret::from_bytes(Bytes(hash::k_secret_bytes, std::byte{1}), Errc::internal);
  static const delta::BlockSigner signer(*secret);
  const std::uint64_t file_bytes = 1 + data[0] + (std::uint64_t{data[1]} << 8) + (std::uint64_t{data[2]} << 16);
  const auto piece =
      delta::SignaturePiece::decode(fuzz::view(data, size).subspan(3), 0, file_bytes, signer, Errc::protocol);
  if (!piece) {
    fuzz::require(piece.error().code == Errc::protocol, "a bad blob is a protocol error");
    return 0;
  }
  fuzz::require(piece->fits(file_bytes), "a piece has the blocks of its file");
  const Bytes blob = piece->encode(file_bytes);
  const auto again = delta::SignaturePiece::decode(blob, 0, file_bytes, signer, Errc::protocol);
  fuzz::require(again.has_value() && again->encode(file_bytes) == blob, "what was encoded decodes to the same");
  return 0;
}
