// SPDX-License-Identifier: Apache-2.0
#include "session/signature_recorder.hpp"

#include "base/random.hpp"

namespace nb::session {

SignatureRecorder::SignatureRecorder(cache::SignatureMemory* memory, const hash::Secret& secret, std::uint64_t size)
    : m_memory(memory), m_size(size) {
  m_key.secret = secret.id();
  if (m_memory != nullptr && !random_bytes(m_key.content.bytes)) m_memory = nullptr;
}

SignatureRecorder::~SignatureRecorder() { drop(); }

void SignatureRecorder::drop() {
  if (m_memory != nullptr) m_memory->forget(m_key);
  m_memory = nullptr;
}

delta::SignatureBuilder::PieceTaker SignatureRecorder::taker() {
  if (m_memory == nullptr) return {};
  return [this](const delta::SignaturePiece& piece) { return put(piece); };
}

Status SignatureRecorder::put(const delta::SignaturePiece& piece) {
  if (m_memory == nullptr) return {};
  Bytes encoded = piece.encode(m_size);
  m_bytes += encoded.size();
  if (m_bytes > m_memory->most_bytes()) {
    drop();
    return {};
  }
  m_memory->put_piece(m_key, static_cast<std::uint32_t>(piece.index()), std::move(encoded));
  return {};
}

void SignatureRecorder::keep(const hash::Digest& digest) {
  if (m_memory == nullptr) return;
  m_memory->settle(m_key, {digest, m_key.secret});
  m_memory = nullptr;
}

}  // namespace nb::session
