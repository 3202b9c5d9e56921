// SPDX-License-Identifier: Apache-2.0
#include "delta/delta_output.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace nb::delta {

DeltaOutput::DeltaOutput(DeltaSink& sink, FileWindow& file, std::size_t max_data_bytes)
    : m_sink(sink), m_file(file), m_max_data_bytes(max_data_bytes) {}

// Hands on pieces of the largest size until at most `until_left` bytes are pending.
Status DeltaOutput::hand_on_literals(std::uint64_t until_left) {
  while (m_end - m_begin > until_left) {
    const std::uint64_t length = std::min<std::uint64_t>(m_end - m_begin, m_max_data_bytes);
    NB_TRY_ASSIGN(const ByteView bytes, m_file.view(m_begin, m_begin + length));
    NB_TRY(m_sink.data(m_begin, bytes));
    m_begin += length;
  }
  return {};
}

Status DeltaOutput::flush() {
  if (m_kind == Kind::literal) NB_TRY(hand_on_literals(0));
  if (m_kind == Kind::copy) NB_TRY(m_sink.copy(m_begin, m_basis_begin, m_end - m_begin));
  if (m_kind == Kind::hole) NB_TRY(m_sink.hole(m_begin, m_end - m_begin));
  m_kind = Kind::nothing;
  m_begin = m_end;
  return {};
}

Status DeltaOutput::turn_to(Kind kind) {
  if (m_kind == kind) return {};
  NB_TRY(flush());
  m_kind = kind;
  return {};
}

Status DeltaOutput::literal(std::uint64_t length) {
  NB_TRY(turn_to(Kind::literal));
  m_end += length;
  m_totals.literal_bytes += length;
  return hand_on_literals(m_max_data_bytes);
}

Status DeltaOutput::copy(std::uint64_t basis_offset, std::uint64_t length) {
  const bool adjacent = m_kind == Kind::copy && m_basis_begin + (m_end - m_begin) == basis_offset;
  if (!adjacent || m_end - m_begin >= k_max_copy_bytes) {
    NB_TRY(flush());
    m_kind = Kind::copy;
    m_basis_begin = basis_offset;
  }
  m_end += length;
  m_totals.copied_bytes += length;
  return {};
}

Status DeltaOutput::turn_into_copy(std::uint64_t basis_offset, std::uint64_t length) {
  NB_ASSERT(length <= pending_literals());
  m_end -= length;
  m_totals.literal_bytes -= length;
  return copy(basis_offset, length);
}

Status DeltaOutput::hole(std::uint64_t length) {
  NB_TRY(turn_to(Kind::hole));
  m_end += length;
  m_totals.hole_bytes += length;
  return {};
}

}  // namespace nb::delta
