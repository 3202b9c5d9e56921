// SPDX-License-Identifier: Apache-2.0
#include "hash/file_hasher.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/assert.hpp"

namespace nb::hash {
namespace {

constexpr std::array<std::byte, k_block_bytes> k_zero_block{};

Digest canonical(XXH128_hash_t value) {
  XXH128_canonical_t form;
  XXH128_canonicalFromHash(&form, value);
  Digest digest;
  std::memcpy(digest.bytes.data(), form.digest, k_digest_bytes);
  return digest;
}

}  // namespace

// `block` collects the current block; `whole` collects the digests of finished ones. The first block is only folded
// into `whole` once a second one begins, because a file of one block has that block's digest. A block that arrives in
// one piece is hashed in one call, which is faster than streaming and needs no copy.
struct FileHasher::BlockState {
  XXH3_state_t* block = XXH3_createState();
  XXH3_state_t* whole = XXH3_createState();
  std::size_t in_block = 0;
  std::optional<Digest> first;
  std::optional<Digest> zero_digest;
  bool several = false;
  bool ended = false;  // a short block was taken by its digest: it is the last

  BlockState() = default;
  BlockState(const BlockState&) = delete;
  BlockState& operator=(const BlockState&) = delete;
  ~BlockState() {
    XXH3_freeState(block);
    XXH3_freeState(whole);
  }
};

FileHasher::FileHasher(const Secret& secret) : m_secret(&secret), m_state(std::make_unique<BlockState>()) {
  const ByteView key = secret.expanded();
  XXH3_128bits_reset_withSecret(m_state->block, key.data(), key.size());
  XXH3_128bits_reset_withSecret(m_state->whole, key.data(), key.size());
}

FileHasher::~FileHasher() = default;
FileHasher::FileHasher(FileHasher&&) noexcept = default;
FileHasher& FileHasher::operator=(FileHasher&&) noexcept = default;

namespace {

void fold(XXH3_state_t* whole, const Digest& digest) {
  XXH3_128bits_update(whole, digest.bytes.data(), digest.bytes.size());
}

}  // namespace

// Takes the digest of a finished block into the file's.
static void add_block(std::optional<Digest>& first, bool& several, XXH3_state_t* whole, const Digest& digest) {
  if (!several && !first) {
    first = digest;
    return;
  }
  if (!several) {
    fold(whole, *first);
    several = true;
  }
  fold(whole, digest);
}

void FileHasher::end_block() {
  const ByteView key = m_secret->expanded();
  const Digest digest = canonical(XXH3_128bits_digest(m_state->block));
  XXH3_128bits_reset_withSecret(m_state->block, key.data(), key.size());
  m_state->in_block = 0;
  add_block(m_state->first, m_state->several, m_state->whole, digest);
}

void FileHasher::update_block_digest(const Digest& digest, std::size_t bytes) {
  NB_ASSERT(m_state->in_block == 0 && !m_state->ended && bytes > 0 && bytes <= k_block_bytes);
  m_state->ended = bytes < k_block_bytes;
  m_size += bytes;
  add_block(m_state->first, m_state->several, m_state->whole, digest);
}

void FileHasher::update(ByteView data) {
  NB_ASSERT(data.empty() || !m_state->ended);
  m_size += data.size();
  while (!data.empty()) {
    if (m_state->in_block == 0 && data.size() >= k_block_bytes) {
      add_block(m_state->first, m_state->several, m_state->whole, digest_of(data.first(k_block_bytes), *m_secret));
      data = data.subspan(k_block_bytes);
      continue;
    }
    const std::size_t take = std::min(data.size(), k_block_bytes - m_state->in_block);
    XXH3_128bits_update(m_state->block, data.data(), take);
    m_state->in_block += take;
    data = data.subspan(take);
    if (m_state->in_block == k_block_bytes) end_block();
  }
}

// Digests of zero blocks are folded many at a time: a hole of terabytes is millions of them.
static void add_zero_blocks(XXH3_state_t* whole, const Digest& digest, std::uint64_t blocks) {
  constexpr std::size_t k_batch = 256;
  std::array<Digest, k_batch> batch;
  batch.fill(digest);
  static_assert(sizeof batch == k_batch * k_digest_bytes);
  while (blocks > 0) {
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(blocks, k_batch));
    XXH3_128bits_update(whole, batch.data(), take * k_digest_bytes);
    blocks -= take;
  }
}

void FileHasher::update_zeros(std::uint64_t count) {
  NB_ASSERT(count == 0 || !m_state->ended);
  while (count > 0) {
    if (m_state->in_block == 0 && count >= k_block_bytes) {
      if (m_state->several && m_state->zero_digest) {
        add_zero_blocks(m_state->whole, *m_state->zero_digest, count / k_block_bytes);
        m_size += count - count % k_block_bytes;
        count %= k_block_bytes;
        continue;
      }
      if (!m_state->zero_digest) m_state->zero_digest = digest_of(k_zero_block, *m_secret);
      add_block(m_state->first, m_state->several, m_state->whole, *m_state->zero_digest);
      m_size += k_block_bytes;
      count -= k_block_bytes;
      continue;
    }
    const auto take = static_cast<std::size_t>(std::min<std::uint64_t>(count, k_block_bytes - m_state->in_block));
    update(ByteView(k_zero_block).first(take));
    count -= take;
  }
}

Digest FileHasher::finish() {
  if (m_state->in_block > 0 || (!m_state->first && !m_state->several)) end_block();
  if (!m_state->several) return *m_state->first;
  return canonical(XXH3_128bits_digest(m_state->whole));
}

}  // namespace nb::hash
