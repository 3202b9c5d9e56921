// SPDX-License-Identifier: Apache-2.0
// NH, the first layer of UMAC's hash (RFC 4418, section 5.2.2), for umac.c alone. Nearly all the time for large
// messages goes here: per 8 bytes of message and stream one product of two 32-bit sums. SSE2 and NEON belong to the
// baselines of x86-64 and aarch64, so nothing is chosen at run time. -DUMAC_NO_SIMD selects the portable code, which
// the tests compare.
#ifndef NSSH_UMAC_NH_H
#define NSSH_UMAC_NH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
  k_nh_block_bytes = 1024,  // NH's key is as long as this, and each further stream needs k_nh_shift_bytes more
  k_nh_chunk_bytes = 32,
  k_nh_shift_bytes = 16,
};

static inline uint32_t load_le32(const uint8_t* p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// nh_chunk adds the four products of a chunk of 32 bytes to `sum`. Word i of the first half meets word i of the second;
// the key's words are in the machine's byte order, the message's are little-endian.
#if defined(__SSE2__) && !defined(UMAC_NO_SIMD)
#include <emmintrin.h>
typedef __m128i nh_sum;

static inline __m128i nh_load(const uint8_t* p) { return _mm_loadu_si128((const __m128i*)p); }

static inline nh_sum nh_chunk(nh_sum sum, const uint8_t* data, const uint8_t* key) {
  const __m128i a = _mm_add_epi32(nh_load(data), nh_load(key));
  const __m128i b = _mm_add_epi32(nh_load(data + 16), nh_load(key + 16));
  const __m128i even = _mm_mul_epu32(a, b);
  const __m128i odd = _mm_mul_epu32(_mm_srli_epi64(a, 32), _mm_srli_epi64(b, 32));
  return _mm_add_epi64(sum, _mm_add_epi64(even, odd));
}

static inline uint64_t nh_total(nh_sum sum) {
  uint64_t lanes[2];
  memcpy(lanes, &sum, sizeof lanes);
  return lanes[0] + lanes[1];
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && !defined(UMAC_NO_SIMD)
#include <arm_neon.h>
typedef uint64x2_t nh_sum;

static inline uint32x4_t nh_load(const uint8_t* p) { return vreinterpretq_u32_u8(vld1q_u8(p)); }

static inline nh_sum nh_chunk(nh_sum sum, const uint8_t* data, const uint8_t* key) {
  const uint32x4_t a = vaddq_u32(nh_load(data), nh_load(key));
  const uint32x4_t b = vaddq_u32(nh_load(data + 16), nh_load(key + 16));
  return vmlal_high_u32(vmlal_u32(sum, vget_low_u32(a), vget_low_u32(b)), a, b);
}

static inline uint64_t nh_total(nh_sum sum) { return vaddvq_u64(sum); }

#else
typedef uint64_t nh_sum;

static inline uint32_t nh_key_word(const uint8_t* p) {
  uint32_t word;
  memcpy(&word, p, sizeof word);
  return word;
}

static inline nh_sum nh_chunk(nh_sum sum, const uint8_t* data, const uint8_t* key) {
  for (size_t i = 0; i < 16; i += 4) {
    const uint32_t a = load_le32(data + i) + nh_key_word(key + i);
    const uint32_t b = load_le32(data + 16 + i) + nh_key_word(key + 16 + i);
    sum += (uint64_t)a * b;
  }
  return sum;
}

static inline uint64_t nh_total(nh_sum sum) { return sum; }
#endif

// NH of `bytes` (a multiple of 32, at most k_nh_block_bytes) for `streams` keys, each 16 bytes further on. Without the
// message's length, which the RFC adds. To be called with a constant `streams`, so that the sums stay in registers.
__attribute__((always_inline)) static inline void nh_streams(const uint8_t* key, const uint8_t* data, size_t bytes,
                                                             const unsigned streams, uint64_t* out) {
  nh_sum sum[4];
  memset(sum, 0, sizeof sum);
  for (; bytes > 0; bytes -= k_nh_chunk_bytes, data += k_nh_chunk_bytes, key += k_nh_chunk_bytes) {
#pragma GCC unroll 4
    for (unsigned i = 0; i < streams; ++i) sum[i] = nh_chunk(sum[i], data, key + i * k_nh_shift_bytes);
  }
#pragma GCC unroll 4
  for (unsigned i = 0; i < streams; ++i) out[i] = nh_total(sum[i]);
}

#endif
