// SPDX-License-Identifier: Apache-2.0
// Bodies of the messages about the signature of a basis: SignatureRequest, Signature, BasisDone. What is in a piece is
// delta/'s matter; here it is bytes of a limited length.
#include "base/assert.hpp"
#include "wire/body.hpp"

namespace nb::wire {

template <>
struct Body<SignatureRequest> {
  static constexpr std::string_view k_what = "signature_request";
  static void write(ByteWriter& out, const SignatureRequest& m) {
    write_key(out, m.file);
    out.varint(m.piece);
  }
  static Result<SignatureRequest> read(ByteReader& in) {
    SignatureRequest m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    NB_TRY_ASSIGN(m.piece, read_number(in, "piece", k_max_signature_pieces));
    return m;
  }
};

template <>
struct Body<Signature> {
  static constexpr std::string_view k_what = "signature";
  static void write(ByteWriter& out, const Signature& m) {
    NB_ASSERT(m.blob.size() <= k_max_signature_bytes);
    write_key(out, m.file);
    out.varint(m.piece);
    out.raw(m.blob);
  }
  static Result<Signature> read(ByteReader& in) {
    Signature m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    NB_TRY_ASSIGN(m.piece, read_number(in, "piece", k_max_signature_pieces));
    if (in.left() > k_max_signature_bytes) return in.bad("too long");
    NB_TRY_ASSIGN(m.blob, in.raw(in.left()));
    return m;
  }
};

template <>
struct Body<BasisDone> {
  static constexpr std::string_view k_what = "basis_done";
  static void write(ByteWriter& out, const BasisDone& m) { write_key(out, m.file); }
  static Result<BasisDone> read(ByteReader& in) {
    BasisDone m;
    NB_TRY_ASSIGN(m.file, read_key(in));
    return m;
  }
};

NB_WIRE_INSTANTIATE(SignatureRequest);
NB_WIRE_INSTANTIATE(Signature);
NB_WIRE_INSTANTIATE(BasisDone);

}  // namespace nb::wire
