// SPDX-License-Identifier: Apache-2.0
// The walk: holes, blocks and pages at the shifts that are known. matcher_search.cpp finds new ones.
#include "delta/matcher.hpp"

#include <algorithm>

#include "base/assert.hpp"

namespace nb::delta {
namespace {

// Beside the pending data: two blocks under comparison and search, one before them, and enough to read in large steps.
constexpr std::size_t k_window_bytes = std::size_t{1} << 20;

}  // namespace

Matcher::Matcher(fs::File& file, BasisSignature& basis, DeltaSink& sink, SignatureBuilder& builder,
                 const BlockSigner& signer, MatcherOptions options)
    : m_file(file),
      m_builder(builder),
      m_signer(signer),
      m_options(options),
      m_window(file, options.size, k_window_bytes + options.max_data_bytes),
      m_output(sink, m_window, options.max_data_bytes),
      m_pieces(basis, options.basis_size, options.max_pieces) {
  NB_ASSERT(options.size > 0 && options.basis_size > 0 && options.max_data_bytes > 0);
}

Result<MatchTotals> Matcher::run() {
  while (m_at < m_options.size) {
    NB_TRY(locate_data());
    NB_TRY(m_at < m_data_begin ? pass_hole() : step());
    keep();
  }
  NB_TRY(m_output.flush());
  return m_output.totals();
}

Status Matcher::locate_data() {
  if (m_at < m_data_end) return {};
  NB_TRY_ASSIGN(const std::optional<fs::Extent> data, m_file.next_data(m_at));
  m_data_begin = data ? std::clamp(data->offset, m_at, m_options.size) : m_options.size;
  const std::uint64_t left = m_options.size - m_data_begin;
  m_data_end = m_data_begin + (data ? std::min(data->length, left) : 0);
  // A stretch without length would stop the walk.
  if (m_data_begin < m_options.size && m_data_end == m_data_begin) m_data_end = m_options.size;
  m_window.read_ahead_to(m_data_end);
  return {};
}

Status Matcher::pass_hole() {
  const std::uint64_t length = m_data_begin - m_at;
  NB_TRY(m_builder.update_zeros(length));
  NB_TRY(m_output.hole(length));
  m_at = m_data_begin;
  return {};
}

Status Matcher::step() {
  NB_TRY_ASSIGN(const Comparison found, compare_best());
  if (found.whole != nullptr) return take_block(found);
  const std::uint64_t left = m_options.size - m_at;
  const std::uint64_t end = m_at + (found.length > 0 ? found.length : std::min<std::uint64_t>(left, k_block_bytes));
  // A block whose last pages differ may be where something was inserted or removed.
  const std::uint64_t from = found.explains() ? found.after_equal : m_at;
  if (from < end) {
    NB_TRY_ASSIGN(const std::optional<Match> match, search(from));
    if (match) return take_match(found, *match, from);
  }
  return take_pages(found, end);
}

Result<Matcher::Comparison> Matcher::compare_best() {
  NB_TRY_ASSIGN(const Comparison current, compare(m_shift));
  if (current.whole != nullptr || current.explains() || m_shift == m_other_shift) return current;
  NB_TRY_ASSIGN(const Comparison other, compare(m_other_shift));
  if (other.whole == nullptr && other.telling <= current.telling) return current;
  std::swap(m_shift, m_other_shift);
  return other;
}

Result<Matcher::Comparison> Matcher::compare(std::int64_t shift) {
  Comparison found;
  found.shift = shift;
  found.after_equal = m_at;
  const std::int64_t place = static_cast<std::int64_t>(m_at) + shift;
  if (place < 0 || static_cast<std::uint64_t>(place) >= m_options.basis_size) return found;
  found.block = static_cast<std::uint64_t>(place) / k_block_bytes;
  found.skipped = static_cast<std::size_t>(static_cast<std::uint64_t>(place) % k_block_bytes);
  const std::size_t in_block = block_bytes(m_options.basis_size, found.block);
  found.length = std::min<std::uint64_t>(in_block - found.skipped, m_options.size - m_at);
  NB_TRY_ASSIGN(const BlockSignature* block, m_pieces.block(found.block));
  if (block == nullptr) return found;
  NB_TRY_ASSIGN(const ByteView bytes, m_window.view(m_at, m_at + found.length));
  if (found.length == in_block && m_signer.strong(bytes) == block->strong) {
    found.whole = block;
  } else {
    compare_pages(found, bytes, *block);
  }
  return found;
}

// Of the pages that lie in `bytes` whole; the basis's last one may be short.
void Matcher::compare_pages(Comparison& found, ByteView bytes, const BlockSignature& block) const {
  const std::size_t in_block = block_bytes(m_options.basis_size, found.block);
  for (std::size_t i = pages_in(found.skipped); i < pages_in(in_block); ++i) {
    const std::size_t begin = i * k_page_bytes - found.skipped;
    const std::size_t length = std::min(k_page_bytes, in_block - i * k_page_bytes);
    if (begin + length > bytes.size()) break;
    if (m_signer.page(bytes.subspan(begin, length)) != block.pages[i]) continue;
    found.equal_pages |= std::uint32_t{1} << i;
    found.after_equal = m_at + begin + length;
    if (block.pages[i] != m_signer.zeros().pages[0]) ++found.telling;
  }
}

Status Matcher::take_block(const Comparison& found) {
  const std::uint64_t basis_offset = found.block * k_block_bytes;
  if (found.length == k_block_bytes && m_builder.at_block_boundary()) {
    NB_TRY(m_output.copy(basis_offset, found.length));
    NB_TRY(m_builder.update_block(*found.whole));
    m_at += found.length;
    return {};
  }
  return copy(basis_offset, found.length);
}

// Describes what lies before `to` by the equal pages of the block and the bytes between them.
Status Matcher::take_pages(const Comparison& found, std::uint64_t to) {
  const std::uint64_t block_at = found.block * k_block_bytes;  // in the basis
  const std::uint64_t start = m_at;
  for (std::size_t i = 0; i < k_block_pages; ++i) {
    if ((found.equal_pages >> i & 1) == 0) continue;
    const std::uint64_t at = start + i * k_page_bytes - found.skipped;
    const std::uint64_t basis_offset = block_at + i * k_page_bytes;
    const std::uint64_t length = std::min<std::uint64_t>(k_page_bytes, m_options.basis_size - basis_offset);
    if (at + length > to) break;
    NB_TRY(literal_to(at));
    NB_TRY(copy(basis_offset, length));
  }
  return literal_to(to);
}

// Data as data, holes as holes.
Status Matcher::literal_to(std::uint64_t to) {
  while (m_at < to) {
    NB_TRY(locate_data());
    if (m_at < m_data_begin) {
      const std::uint64_t length = std::min(to, m_data_begin) - m_at;
      NB_TRY(m_builder.update_zeros(length));
      NB_TRY(m_output.hole(length));
      m_at += length;
      continue;
    }
    const std::uint64_t end = std::min(to, m_data_end);
    NB_TRY_ASSIGN(const ByteView bytes, m_window.view(m_at, end));
    NB_TRY(m_builder.update(bytes));
    NB_TRY(m_output.literal(end - m_at));
    m_at = end;
  }
  return {};
}

Status Matcher::copy(std::uint64_t basis_offset, std::uint64_t length) {
  NB_TRY_ASSIGN(const ByteView bytes, m_window.view(m_at, m_at + length));
  NB_TRY(m_builder.update(bytes));
  NB_TRY(m_output.copy(basis_offset, length));
  m_at += length;
  return {};
}

}  // namespace nb::delta
