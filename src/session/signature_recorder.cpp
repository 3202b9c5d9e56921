// SPDX-License-Identifier: Apache-2.0
#include "session/signature_recorder.hpp"

#include "base/random.hpp"

namespace nb::session {

SignatureRecorder::SignatureRecorder(cache::SignatureMemory* memory, const hash::Secret& secret, std::uint64_t size)
    : m_memory(memory), m_size(size) {
  m_key.secret = secret.id();
  if (m_memory != nullptr && !random_bytes(m_key.content.bytes)) m_memory = nullptr;
}

SignatureRecorder::~SignatureRecorder() {
  if (m_memory != nullptr) m_memory->forget(m_key);
}

delta::SignatureBuilder::PieceTaker SignatureRecorder::taker() {
  if (m_memory == nullptr) return {};
  return [this](const delta::SignaturePiece& piece) -> Status {
    m_memory->put_piece(m_key, static_cast<std::uint32_t>(piece.index()), piece.encode(m_size));
    return {};
  };
}

void SignatureRecorder::keep(const hash::Digest& digest) {
  if (m_memory == nullptr) return;
  m_memory->settle(m_key, {digest, m_key.secret});
  m_memory = nullptr;
}

}  // namespace nb::session
