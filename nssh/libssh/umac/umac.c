// SPDX-License-Identifier: Apache-2.0
// UMAC after RFC 4418, whose names the comments use. UHASH is NH over blocks of 1 KiB (L1), a polynomial over the
// hashes of the blocks (L2) and an inner product (L3), once per 32 bits of tag with other keys: these are the streams.
// The tag is UHASH xor a pad, which is AES of the nonce. A message of more than 16 MiB would need POLY-128 and is
// refused.
#include "umac.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdlib.h>

#include "nh.h"

enum {
  k_aes_bytes = 16,
  k_max_streams = 4,
  k_nh_key_bytes = k_nh_block_bytes + (k_max_streams - 1) * k_nh_shift_bytes,
};
static const uint64_t k_max_message_bytes = UINT64_C(1) << 24;
static const uint64_t k_p64 = UINT64_C(0xFFFFFFFFFFFFFFC5);  // 2^64 - 59
static const uint64_t k_p36 = UINT64_C(0x0000000FFFFFFFFB);  // 2^36 - 5

struct umac_ctx {
  unsigned streams;  // 2 or 4
  uint8_t nh_key[k_nh_key_bytes];
  uint64_t poly_key[k_max_streams];
  uint64_t ip_key[k_max_streams][4];  // of L3's eight keys those that meet the low 64 bits; the high ones are 0
  uint32_t ip_pad[k_max_streams];

  EVP_CIPHER_CTX* pad_cipher;
  uint8_t pad_nonce[k_aes_bytes];  // what `pad` was made of: two 64-bit tags in a row share one
  uint8_t pad[k_aes_bytes];

  // The message so far: complete blocks are hashed, the rest waits in `block`.
  uint64_t message_bytes;
  uint64_t blocks;
  uint64_t nh[k_max_streams];    // of the last block
  uint64_t poly[k_max_streams];  // of all blocks
  uint8_t block[k_nh_block_bytes];
  size_t block_bytes;
};

static uint64_t load_be64(const uint8_t* p) {
  uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value = value << 8 | p[i];
  return value;
}

static uint32_t load_be32(const uint8_t* p) {
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

static EVP_CIPHER_CTX* aes_new(const uint8_t key[]) {
  EVP_CIPHER_CTX* aes = EVP_CIPHER_CTX_new();
  if (aes != NULL && EVP_EncryptInit_ex(aes, EVP_aes_128_ecb(), NULL, key, NULL) == 1) return aes;
  EVP_CIPHER_CTX_free(aes);
  return NULL;
}

static int aes_block(EVP_CIPHER_CTX* aes, const uint8_t in[], uint8_t out[]) {
  int written = 0;
  return EVP_EncryptUpdate(aes, out, &written, in, k_aes_bytes) == 1 && written == k_aes_bytes;
}

// KDF (section 3.2.1): `bytes` of key material number `index`.
static int kdf(EVP_CIPHER_CTX* aes, uint8_t index, uint8_t* out, size_t bytes) {
  uint8_t in[k_aes_bytes] = {0};
  uint8_t block[k_aes_bytes];
  in[7] = index;
  for (size_t done = 0; done < bytes; done += k_aes_bytes) {
    ++in[15];  // at most 67 blocks: one byte of the counter is enough
    if (!aes_block(aes, in, block)) return 0;
    memcpy(out + done, block, bytes - done < k_aes_bytes ? bytes - done : k_aes_bytes);
  }
  OPENSSL_cleanse(block, sizeof block);
  return 1;
}

static int derive_nh_key(struct umac_ctx* ctx, EVP_CIPHER_CTX* aes) {
  if (!kdf(aes, 1, ctx->nh_key, sizeof ctx->nh_key)) return 0;
  for (size_t i = 0; i < sizeof ctx->nh_key; i += 4) {
    const uint32_t word = load_be32(ctx->nh_key + i);
    memcpy(ctx->nh_key + i, &word, sizeof word);
  }
  return 1;
}

static int derive_l2_l3_keys(struct umac_ctx* ctx, EVP_CIPHER_CTX* aes) {
  uint8_t l2[24 * k_max_streams];  // per stream a key for POLY-64 and one for POLY-128
  uint8_t l3[64 * k_max_streams];
  uint8_t l3_pad[4 * k_max_streams];
  const int ok = kdf(aes, 2, l2, sizeof l2) && kdf(aes, 3, l3, sizeof l3) && kdf(aes, 4, l3_pad, sizeof l3_pad);
  for (size_t s = 0; ok && s < k_max_streams; ++s) {
    ctx->poly_key[s] = load_be64(l2 + 24 * s) & UINT64_C(0x01FFFFFF01FFFFFF);
    for (size_t i = 0; i < 4; ++i) ctx->ip_key[s][i] = load_be64(l3 + 64 * s + 32 + 8 * i) % k_p36;
    ctx->ip_pad[s] = load_be32(l3_pad + 4 * s);
  }
  OPENSSL_cleanse(l2, sizeof l2);
  OPENSSL_cleanse(l3, sizeof l3);
  OPENSSL_cleanse(l3_pad, sizeof l3_pad);
  return ok;
}

static int derive_pad_cipher(struct umac_ctx* ctx, EVP_CIPHER_CTX* aes) {
  uint8_t key[k_aes_bytes];
  if (!kdf(aes, 0, key, sizeof key)) return 0;
  ctx->pad_cipher = aes_new(key);
  OPENSSL_cleanse(key, sizeof key);
  return ctx->pad_cipher != NULL && aes_block(ctx->pad_cipher, ctx->pad_nonce, ctx->pad);
}

static void begin_message(struct umac_ctx* ctx) {
  ctx->message_bytes = 0;
  ctx->blocks = 0;
  ctx->block_bytes = 0;
  for (unsigned s = 0; s < k_max_streams; ++s) ctx->poly[s] = 1;
}

static struct umac_ctx* context_new(const uint8_t key[], unsigned streams) {
  struct umac_ctx* ctx = calloc(1, sizeof *ctx);
  EVP_CIPHER_CTX* aes = aes_new(key);
  const int ok = ctx && aes && derive_nh_key(ctx, aes) && derive_l2_l3_keys(ctx, aes) && derive_pad_cipher(ctx, aes);
  EVP_CIPHER_CTX_free(aes);
  if (!ok) {
    umac_delete(ctx);
    return NULL;
  }
  ctx->streams = streams;
  begin_message(ctx);
  return ctx;
}

// a + b modulo p64, as a value below 2^64. `b` < 2^64 - 59.
static uint64_t add_p64(uint64_t a, uint64_t b) {
  const uint64_t sum = a + b;
  return sum < b ? sum + 59 : sum;
}

// y * key + m modulo p64, as a value below 2^64, for m < 2^64 - 59. Both halves of the key are below 2^25 (the mask in
// section 5.3.1), so no partial sum overflows; 2^64 = 59 modulo p64. 32-bit machines have no 128-bit product.
static uint64_t poly_step(uint64_t y, uint64_t key, uint64_t m) {
  const uint64_t y_high = y >> 32, y_low = (uint32_t)y;
  const uint64_t key_high = key >> 32, key_low = (uint32_t)key;
  const uint64_t middle = y_high * key_low + y_low * key_high;
  const uint64_t folded = (y_high * key_high + (middle >> 32)) * 59 + y_low * key_low;
  return add_p64(add_p64(folded, middle << 32), m);
}

// POLY-64 (section 5.3.2): values of 2^64 - 2^32 or more are sent as a marker and the value less 59.
static uint64_t poly64(uint64_t y, uint64_t key, uint64_t m) {
  if (m >> 32 != UINT32_MAX) return poly_step(y, key, m);
  return poly_step(poly_step(y, key, k_p64 - 1), key, m - 59);
}

// L1 and L2 for a block of `bytes` (of 1 to 1024, or 0 for the empty message), padded with zeros to `padded`.
static void hash_block(struct umac_ctx* ctx, const uint8_t* data, size_t bytes, size_t padded) {
  if (ctx->streams == 2) {
    nh_streams(ctx->nh_key, data, padded, 2, ctx->nh);
  } else {
    nh_streams(ctx->nh_key, data, padded, 4, ctx->nh);
  }
  for (unsigned s = 0; s < ctx->streams; ++s) {
    ctx->nh[s] += 8 * (uint64_t)bytes;
    ctx->poly[s] = poly64(ctx->poly[s], ctx->poly_key[s], ctx->nh[s]);
  }
  ++ctx->blocks;
}

static void hash_rest(struct umac_ctx* ctx) {
  if (ctx->block_bytes == 0 && ctx->blocks > 0) return;
  const size_t chunks = ctx->block_bytes == 0 ? 1 : (ctx->block_bytes + k_nh_chunk_bytes - 1) / k_nh_chunk_bytes;
  const size_t padded = chunks * k_nh_chunk_bytes;
  memset(ctx->block + ctx->block_bytes, 0, padded - ctx->block_bytes);
  hash_block(ctx, ctx->block, ctx->block_bytes, padded);
}

// L3 (section 5.4) of the polynomial, or of NH itself for a message of one block.
static uint32_t inner_product(const struct umac_ctx* ctx, unsigned s) {
  uint64_t y = ctx->nh[s];
  if (ctx->blocks > 1) y = ctx->poly[s] >= k_p64 ? ctx->poly[s] - k_p64 : ctx->poly[s];
  uint64_t sum = 0;
  for (unsigned i = 0; i < 4; ++i) sum += ctx->ip_key[s][i] * (y >> (48 - 16 * i) & 0xFFFF);
  return (uint32_t)(sum % k_p36) ^ ctx->ip_pad[s];
}

// PDF (section 3.3): the block that gives the pad for `nonce`. A 64-bit tag takes the half that the lowest bit names.
static int make_pad(struct umac_ctx* ctx, const uint8_t nonce[8]) {
  uint8_t in[k_aes_bytes] = {0};
  memcpy(in, nonce, 8);
  if (ctx->streams == 2) in[7] &= 0xFE;
  if (memcmp(in, ctx->pad_nonce, sizeof in) == 0) return 1;
  ctx->pad_nonce[8] = 1;  // no nonce has this: should AES fail, the old pad is not taken for the new one
  if (!aes_block(ctx->pad_cipher, in, ctx->pad)) return 0;
  memcpy(ctx->pad_nonce, in, sizeof in);
  return 1;
}

static int finish(struct umac_ctx* ctx, uint8_t* tag, const uint8_t nonce[8]) {
  const size_t tag_bytes = 4 * (size_t)ctx->streams;
  const int ok = ctx->message_bytes <= k_max_message_bytes && make_pad(ctx, nonce);
  memset(tag, 0, tag_bytes);
  if (ok) {
    hash_rest(ctx);
    const uint8_t* pad = ctx->pad + (ctx->streams == 2 && (nonce[7] & 1) ? 8 : 0);
    for (unsigned s = 0; s < ctx->streams; ++s) {
      const uint32_t word = inner_product(ctx, s) ^ load_be32(pad + 4 * s);
      for (unsigned i = 0; i < 4; ++i) tag[4 * s + i] = (uint8_t)(word >> (24 - 8 * i));
    }
  }
  begin_message(ctx);
  return ok;
}

static int update(struct umac_ctx* ctx, const uint8_t* input, long len) {
  size_t left = len > 0 ? (size_t)len : 0;
  if (ctx->message_bytes > k_max_message_bytes || left > k_max_message_bytes - ctx->message_bytes) {
    ctx->message_bytes = k_max_message_bytes + 1;
    return 0;
  }
  ctx->message_bytes += left;
  while (left > 0) {
    if (ctx->block_bytes == 0 && left >= k_nh_block_bytes) {
      hash_block(ctx, input, k_nh_block_bytes, k_nh_block_bytes);
      input += k_nh_block_bytes;
      left -= k_nh_block_bytes;
      continue;
    }
    const size_t room = k_nh_block_bytes - ctx->block_bytes;
    const size_t taken = left < room ? left : room;
    memcpy(ctx->block + ctx->block_bytes, input, taken);
    input += taken;
    left -= taken;
    ctx->block_bytes += taken;
    if (ctx->block_bytes == k_nh_block_bytes) {
      hash_block(ctx, ctx->block, k_nh_block_bytes, k_nh_block_bytes);
      ctx->block_bytes = 0;
    }
  }
  return 1;
}

struct umac_ctx* umac_new(const unsigned char key[]) {
  return context_new(key, 2);
}
struct umac_ctx* umac128_new(const unsigned char key[]) {
  return context_new(key, 4);
}

int umac_update(struct umac_ctx* ctx, const unsigned char* input, long len) { return update(ctx, input, len); }
int umac128_update(struct umac_ctx* ctx, const unsigned char* input, long len) { return update(ctx, input, len); }

int umac_final(struct umac_ctx* ctx, unsigned char tag[], const unsigned char nonce[8]) {
  return finish(ctx, tag, nonce);
}
int umac128_final(struct umac_ctx* ctx, unsigned char tag[], const unsigned char nonce[8]) {
  return finish(ctx, tag, nonce);
}

int umac_delete(struct umac_ctx* ctx) {
  if (ctx == NULL) return 1;
  EVP_CIPHER_CTX_free(ctx->pad_cipher);
  OPENSSL_cleanse(ctx, sizeof *ctx);
  free(ctx);
  return 1;
}
int umac128_delete(struct umac_ctx* ctx) { return umac_delete(ctx); }
