// SPDX-License-Identifier: Apache-2.0
// SignatureRecorder: keeps the signature of one content while it is sent, for the delta that may follow in a later run.
// The content's digest is known only when all of it has been read, so the pieces wait under a key that nobody asks for.
// Used by ContentSender from its thread.
#pragma once

#include "cache/signature_memory.hpp"
#include "delta/signature_builder.hpp"

namespace nb::session {

class SignatureRecorder {
 public:
  // Of a content of `size` bytes. `memory` may be null: nothing is kept then, nor of a signature that is longer than
  // the memory's most_bytes(). Both outlive the recorder.
  SignatureRecorder(cache::SignatureMemory* memory, const hash::Secret& secret, std::uint64_t size);
  // What was not kept is forgotten.
  ~SignatureRecorder();
  SignatureRecorder(const SignatureRecorder&) = delete;
  SignatureRecorder& operator=(const SignatureRecorder&) = delete;

  // For the builder of this content; empty where nothing is kept. The recorder outlives it.
  [[nodiscard]] delta::SignatureBuilder::PieceTaker taker();
  // The content was read to its end, unchanged, and has this digest.
  void keep(const hash::Digest& digest);

 private:
  Status put(const delta::SignaturePiece& piece);
  void drop();

  cache::SignatureMemory* m_memory;
  std::uint64_t m_size;
  std::uint64_t m_bytes = 0;  // of the pieces so far
  cache::SignatureKey m_key;  // until the digest is known
};

}  // namespace nb::session
