// SPDX-License-Identifier: Apache-2.0
// The search for a block of the basis at any byte of the new content.
#include <algorithm>

#include "delta/matcher.hpp"

namespace nb::delta {
namespace {

// Each byte rolled over pays for hashing so many bytes of candidates that turn out wrong. Hashing is about ten times
// faster than rolling, so sums that collide on purpose make a search slower by a small factor at most.
constexpr std::uint64_t k_credit_per_byte = 16;
constexpr std::uint64_t k_max_credit = std::uint64_t{16} << 20;

}  // namespace

Result<std::optional<Matcher::Match>> Matcher::search(std::uint64_t from) {
  const std::int64_t place = std::max<std::int64_t>(static_cast<std::int64_t>(m_at) + m_shift, 0);
  const std::uint64_t near = std::min(static_cast<std::uint64_t>(place), m_options.basis_size - 1);
  NB_TRY(m_pieces.surround(near / k_block_bytes));
  if (!m_pieces.index().empty() && from + k_block_bytes <= m_options.size) {
    const std::uint64_t last = m_options.size - k_block_bytes;
    const std::uint64_t end = std::min({from + k_block_bytes, m_data_end, last + 1});
    NB_TRY_ASSIGN(const std::optional<Match> match, roll(from, end));
    if (match) return match;
  }
  return match_tail(from);
}

// Looks at the blocks that begin in [from, end), all of them inside the file.
Result<std::optional<Matcher::Match>> Matcher::roll(std::uint64_t from, std::uint64_t end) {
  if (from >= end) return std::optional<Match>();
  NB_TRY_ASSIGN(const ByteView bytes, m_window.view(from, std::min(end + k_block_bytes, m_options.size)));
  if (m_sum_at != from) m_sum = RollingSum::of(bytes.first(k_block_bytes));
  m_sum_at = k_no_sum;
  m_credit = std::min(m_credit + (end - from) * k_credit_per_byte, k_max_credit);
  // The last position of the file cannot be rolled away from.
  const std::size_t rolls = bytes.size() - k_block_bytes;
  for (std::size_t at = 0; from + at < end;) {
    if (at < rolls) at += m_pieces.index().scan(bytes.data() + at, rolls - at, m_sum);
    if (from + at == end) break;
    const std::optional<Match> match = verify(from + at, bytes.subspan(at, k_block_bytes));
    if (match) return match;
    if (at == rolls) return std::optional<Match>();
    m_sum.roll(bytes[at], bytes[at + k_block_bytes]);
    ++at;
  }
  m_sum_at = end;
  return std::optional<Match>();
}

bool Matcher::affordable() {
  if (m_credit < k_block_bytes) return false;
  m_credit -= k_block_bytes;
  return true;
}

// Whether the block at `at`, of which m_sum is the weak sum, is one of the basis.
std::optional<Matcher::Match> Matcher::verify(std::uint64_t at, ByteView block) {
  if (!m_pieces.index().may_have(m_sum.value())) return std::nullopt;
  const WeakIndex::Candidates candidates = m_pieces.index().find(m_sum.value());
  if (candidates.count == 0 || !affordable()) return std::nullopt;
  const hash::Digest strong = m_signer.strong(block);
  for (std::size_t i = 0; i < candidates.count; ++i) {
    const BlockSignature* known = m_pieces.held(candidates.blocks[i]);
    if (known == nullptr || known->strong != strong) continue;
    m_credit += k_block_bytes;  // not in vain
    return Match{at, candidates.blocks[i], k_block_bytes};
  }
  return std::nullopt;
}

// The basis's short last block can only be at the end of the new content, or nobody would look for it there.
Result<std::optional<Matcher::Match>> Matcher::match_tail(std::uint64_t from) {
  const std::uint64_t number = m_options.basis_size / k_block_bytes;
  const std::uint64_t length = m_options.basis_size % k_block_bytes;
  if (length == 0 || from + length > m_options.size) return std::optional<Match>();
  const std::uint64_t at = m_options.size - length;
  const BlockSignature* known = m_pieces.held(number);
  if (known == nullptr || at >= from + k_block_bytes || at >= m_data_end) return std::optional<Match>();
  NB_TRY_ASSIGN(const ByteView bytes, m_window.view(at, m_options.size));
  if (m_signer.strong(bytes) != known->strong) return std::optional<Match>();
  return Match{at, number, length};
}

Result<bool> Matcher::equal_page_before(std::uint64_t at, std::uint64_t basis_offset) {
  const std::uint64_t before = basis_offset - k_page_bytes;
  const BlockSignature* known = m_pieces.held(before / k_block_bytes);
  if (known == nullptr) return false;
  NB_TRY_ASSIGN(const ByteView bytes, m_window.view(at - k_page_bytes, at));
  return m_signer.page(bytes) == known->pages[before % k_block_bytes / k_page_bytes];
}

// Where the match begins if the pages before it are equal too: not before `from`, or if that is all that is open now,
// not before the bytes that wait to be sent.
Result<std::uint64_t> Matcher::extend_back(const Match& match, std::uint64_t from) {
  const std::uint64_t limit = from == m_at ? m_at - m_output.pending_literals() : from;
  std::uint64_t at = match.at;
  std::uint64_t basis_offset = match.block * k_block_bytes;
  while (at >= limit + k_page_bytes && basis_offset > 0) {
    NB_TRY_ASSIGN(const bool equal, equal_page_before(at, basis_offset));
    if (!equal) break;
    at -= k_page_bytes;
    basis_offset -= k_page_bytes;
  }
  return at;
}

Status Matcher::take_match(const Comparison& found, const Match& match, std::uint64_t from) {
  NB_TRY_ASSIGN(const std::uint64_t at, extend_back(match, from));
  std::uint64_t basis_offset = match.block * k_block_bytes - (match.at - at);
  if (at < m_at) {
    NB_TRY(m_output.turn_into_copy(basis_offset, m_at - at));
    basis_offset += m_at - at;
  } else {
    NB_TRY(take_pages(found, at));
  }
  NB_TRY(copy(basis_offset, match.at + match.length - m_at));
  // Zeros are everywhere and say nothing about where the content came from.
  if (m_pieces.held(match.block)->weak == 0) return {};
  const auto shift = static_cast<std::int64_t>(match.block * k_block_bytes) - static_cast<std::int64_t>(match.at);
  if (shift != m_shift) m_other_shift = std::exchange(m_shift, shift);
  return {};
}

}  // namespace nb::delta
