// SPDX-License-Identifier: Apache-2.0
// DeltaOutput: joins what the matcher finds, page by page and block by block, into few large operations.
#pragma once

#include <cstdint>

#include "delta/delta_sink.hpp"
#include "delta/file_window.hpp"

namespace nb::delta {

// A copy is handed on when it is so long, so that the other side can work on it meanwhile.
inline constexpr std::uint64_t k_max_copy_bytes = std::uint64_t{64} << 20;

struct MatchTotals {
  std::uint64_t literal_bytes = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t hole_bytes = 0;
};

class DeltaOutput {
 public:
  // Literal bytes are taken from `file` when they are handed on.
  DeltaOutput(DeltaSink& sink, FileWindow& file, std::size_t max_data_bytes);

  // The next `length` bytes of the new content, 1 or more.
  Status literal(std::uint64_t length);
  Status copy(std::uint64_t basis_offset, std::uint64_t length);
  Status hole(std::uint64_t length);
  // The last `length` bytes, at most pending_literals(), turn out to be in the basis after all.
  Status turn_into_copy(std::uint64_t basis_offset, std::uint64_t length);
  [[nodiscard]] std::uint64_t pending_literals() const { return m_kind == Kind::literal ? m_end - m_begin : 0; }
  Status flush();

  // The first byte of the file that this may still need.
  [[nodiscard]] std::uint64_t needs_from() const { return m_kind == Kind::literal ? m_begin : m_end; }
  [[nodiscard]] const MatchTotals& totals() const { return m_totals; }

 private:
  enum class Kind : std::uint8_t { nothing, literal, copy, hole };
  Status turn_to(Kind kind);
  Status hand_on_literals(std::uint64_t until_left);

  DeltaSink& m_sink;
  FileWindow& m_file;
  std::size_t m_max_data_bytes;
  Kind m_kind = Kind::nothing;  // of the pending [m_begin, m_end)
  std::uint64_t m_begin = 0;
  std::uint64_t m_end = 0;
  std::uint64_t m_basis_begin = 0;
  MatchTotals m_totals;
};

}  // namespace nb::delta
