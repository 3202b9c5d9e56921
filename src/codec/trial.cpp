// SPDX-License-Identifier: Apache-2.0
#include "codec/trial.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace nb::codec {
namespace {

constexpr std::size_t k_pieces = 16;
constexpr std::size_t k_piece_bytes = 256;
constexpr std::size_t k_least_sample_bytes = 512;
constexpr unsigned k_first_skip = 8;
constexpr unsigned k_most_skip = 64;
// Smaller by less than a 32nd counts as not shrunk.
constexpr std::size_t k_worthless_divisor = 32;

using Histogram = std::array<std::uint32_t, 256>;

std::size_t count_piece(ByteView piece, Histogram& counts) {
  for (const std::byte b : piece) ++counts[std::to_integer<std::size_t>(b)];
  return piece.size();
}

std::size_t sample(ByteView data, Histogram& counts) {
  if (data.size() <= k_pieces * k_piece_bytes) return count_piece(data, counts);
  const std::size_t stride = (data.size() - k_piece_bytes) / (k_pieces - 1);
  std::size_t total = 0;
  for (std::size_t i = 0; i < k_pieces; ++i) total += count_piece(data.subspan(i * stride, k_piece_bytes), counts);
  return total;
}

}  // namespace

// The index of coincidence: how many pairs of the sample are equal. One in 256 is for even spreading; a quarter above
// that is more than five standard deviations off at 512 bytes, and means entropy coding gains some four percent.
bool looks_random(ByteView data) {
  Histogram counts{};
  const std::uint64_t n = sample(data, counts);
  if (n < k_least_sample_bytes) return false;
  std::uint64_t equal_pairs = 0;
  for (const std::uint64_t count : counts) equal_pairs += count * (count - std::min<std::uint64_t>(count, 1));
  return equal_pairs * 256 * 4 < n * (n - 1) * 5;
}

bool Trial::worth_trying(ByteView payload) {
  m_last_looked_random = looks_random(payload);
  if (!m_last_looked_random) return true;
  if (m_left_to_skip == 0) return true;
  --m_left_to_skip;
  return false;
}

void Trial::tried(std::size_t payload_bytes, std::size_t compressed_bytes) {
  if (!m_last_looked_random) return;
  const bool shrank = compressed_bytes + payload_bytes / k_worthless_divisor < payload_bytes;
  m_skip = shrank ? 0 : std::min(std::max(k_first_skip, 2 * m_skip), k_most_skip);
  m_left_to_skip = m_skip;
}

}  // namespace nb::codec
