// SPDX-License-Identifier: Apache-2.0
// Prints tags of one implementation of OpenSSH's umac.h for nssh/test-umac, which compares what several print. What
// needs no other implementation is checked here, with exit code 1: the vectors of RFC 4418, and that neither the
// address of a message nor the way it is cut changes its tag.
//
// Usage: umac_tags all|golden|bench    (golden: the lengths that tests/umac_tags.golden keeps)
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "umac.h"

enum { k_max_bytes = 256 * 1024, k_slack = 64, k_block = 1024, k_rounds = 9 };

struct form {
  const char* name;
  size_t tag_bytes;
  struct umac_ctx* (*create)(const unsigned char*);
  int (*update)(struct umac_ctx*, const unsigned char*, long);
  int (*final)(struct umac_ctx*, unsigned char*, const unsigned char*);
  int (*destroy)(struct umac_ctx*);
};

static const struct form k_forms[2] = {
    {"umac-64", 8, umac_new, umac_update, umac_final, umac_delete},
    {"umac-128", 16, umac128_new, umac128_update, umac128_final, umac128_delete},
};
static const unsigned char k_rfc_key[] = "abcdefghijklmnop";
static const unsigned char k_rfc_nonce[] = "bcdefghi";

static unsigned char g_buffer[k_max_bytes + k_slack];
static uint32_t g_random = 4418;
static int g_failures;

// The high bits of a linear congruential generator (Numerical Recipes): the same bytes on every machine.
static uint32_t random_below(uint32_t limit) {
  g_random = g_random * 1664525 + 1013904223;
  return (uint32_t)(((uint64_t)g_random * limit) >> 32);
}

static void fill_random(unsigned char* out, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) out[i] = (unsigned char)random_below(256);
}

static void to_hex(char* out, const unsigned char* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static void expect_same(const struct form* form, const char* what, size_t bytes, const unsigned char* tag,
                        const unsigned char* expected, size_t tag_bytes) {
  if (memcmp(tag, expected, tag_bytes) == 0) return;
  fprintf(stderr, "%s, %zu bytes, %s: the tag is wrong\n", form->name, bytes, what);
  ++g_failures;
}

// One message in pieces of 1 to `max_piece` bytes, or whole for 0.
static void tag_of(const struct form* form, struct umac_ctx* ctx, const unsigned char* message, size_t bytes,
                   const unsigned char* nonce, size_t max_piece, unsigned char* tag) {
  for (size_t done = 0; done < bytes;) {
    size_t piece = max_piece == 0 ? bytes : 1 + random_below((uint32_t)max_piece);
    if (piece > bytes - done) piece = bytes - done;
    form->update(ctx, message + done, (long)piece);
    done += piece;
  }
  form->final(ctx, tag, nonce);
}

static void print_tag(const struct form* form, const char* what, size_t bytes, const unsigned char* tag) {
  char hex[33];
  to_hex(hex, tag, form->tag_bytes);
  printf("%s %s %zu %s\n", form->name, what, bytes, hex);
}

// `bytes` of g_buffer: their tag, the same at another address, and in pieces.
static void show_length(const struct form* form, struct umac_ctx* ctx, size_t bytes) {
  const unsigned char nonce[8] = {
      0, 0, 0, 0, 0, (unsigned char)(bytes >> 16), (unsigned char)(bytes >> 8), (unsigned char)bytes};
  _Alignas(16) unsigned char tag[16], again[16];
  tag_of(form, ctx, g_buffer, bytes, nonce, 0, tag);
  print_tag(form, "random", bytes, tag);

  const size_t shift = 1 + bytes % 15;
  unsigned char* moved = malloc(bytes + shift);  // as long as the message: a read past its end is seen by sanitizers
  if (moved == NULL) abort();
  memcpy(moved + shift, g_buffer, bytes);
  tag_of(form, ctx, moved + shift, bytes, nonce, 0, again);
  expect_same(form, "unaligned", bytes, again, tag, form->tag_bytes);
  static const size_t k_pieces[] = {7, 100, 1024, 5000};
  for (size_t i = 0; i < sizeof k_pieces / sizeof *k_pieces; ++i) {
    tag_of(form, ctx, moved + shift, bytes, nonce, k_pieces[i], again);
    expect_same(form, "in pieces", bytes, again, tag, form->tag_bytes);
  }
  free(moved);
}

static void show_lengths(const struct form* form, int only_golden) {
  static const size_t k_golden[] = {
      0,    1,    2,    3,    4,    7,    8,    15,    16,    17,    31,    32,    33,     63,     64,     65,    95,
      96,   127,  128,  255,  256,  257,  511,  512,   1000,  1023,  1024,  1025,  1056,   1057,   2047,   2048,  2049,
      3000, 4095, 4096, 4097, 4200, 8192, 9000, 16384, 32768, 32784, 35000, 65536, 100000, 131072, 262143, 262144};
  struct umac_ctx* ctx = form->create(k_rfc_key);
  for (size_t i = 0; i < sizeof k_golden / sizeof *k_golden; ++i) show_length(form, ctx, k_golden[i]);
  for (size_t bytes = 1; !only_golden && bytes <= 4200; ++bytes) show_length(form, ctx, bytes);
  form->destroy(ctx);
  for (int i = 0; !only_golden && i < 300; ++i) {
    unsigned char key[16];
    fill_random(key, sizeof key);
    ctx = form->create(key);
    show_length(form, ctx, 1 + random_below(k_max_bytes));
    form->destroy(ctx);
  }
}

// RFC 4418, appendix. It gives tags of 64 and 96 bits; the latter are the first 12 bytes of those of 128, since
// streams are independent and both take their pad from the start of the same AES block. Left out: its message of 2^25
// bytes, more than OpenSSH's implementation and ours are for.
static void check_rfc_vectors(void) {
  static const struct {
    const char* unit;
    size_t times;
    const char *tag64, *tag96;
  } k_vectors[] = {
      {"", 0, "6e155fad26900be1", "32fedb100c79ad58f07ff764"},
      {"a", 3, "44b5cb542f220104", "185e4fe905cba7bd85e4c2dc"},
      {"a", 1 << 10, "26bf2f5d60118bd9", "7a54abe04af82d60fb298c3c"},
      {"a", 1 << 15, "27f8ef643b0d118d", "7b136bd911e4b734286ef2be"},
      {"a", 1 << 20, "a4477e87e9f55853", "f8acfa3ac31cfeea047f7b11"},
      {"abc", 1, "d4d7b9f6bd4fbfcf", "883c3d4b97a61976ffcf2323"},
      {"abc", 500, "d4cf26ddefd5c01a", "8824a260c53c66a36c9260a6"},
  };
  for (size_t i = 0; i < 2 * (sizeof k_vectors / sizeof *k_vectors); ++i) {
    const struct form* form = &k_forms[i % 2];
    struct umac_ctx* ctx = form->create(k_rfc_key);
    const size_t unit_bytes = strlen(k_vectors[i / 2].unit);
    for (size_t n = 0; n < k_vectors[i / 2].times; ++n) {
      form->update(ctx, (const unsigned char*)k_vectors[i / 2].unit, (long)unit_bytes);
    }
    _Alignas(16) unsigned char tag[16];
    char hex[33];
    form->final(ctx, tag, k_rfc_nonce);
    to_hex(hex, tag, form->tag_bytes);
    const char* expected = i % 2 == 0 ? k_vectors[i / 2].tag64 : k_vectors[i / 2].tag96;
    expect_same(form, "RFC 4418", unit_bytes * k_vectors[i / 2].times, (const unsigned char*)hex,
                (const unsigned char*)expected, strlen(expected));
    form->destroy(ctx);
  }
}

// Key material of RFC 4418, section 3.2.1, under k_rfc_key.
static void kdf(unsigned char index, unsigned char* out, int blocks) {
  EVP_CIPHER_CTX* aes = EVP_CIPHER_CTX_new();
  if (aes == NULL || EVP_EncryptInit_ex(aes, EVP_aes_128_ecb(), NULL, k_rfc_key, NULL) != 1) abort();
  unsigned char in[16] = {0};
  in[7] = index;
  for (int written; blocks > 0; --blocks, out += 16) {
    ++in[15];
    if (EVP_EncryptUpdate(aes, out, &written, in, sizeof in) != 1) abort();
  }
  EVP_CIPHER_CTX_free(aes);
}

static uint64_t big_endian(const unsigned char* p, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value = value << 8 | p[i];
  return value;
}

// A block of 1 KiB whose L1 hash in `stream` is `value`: all sums of message and key are 0 but three pairs, whose
// products add up to it.
static void craft_block(unsigned char* out, unsigned stream, uint64_t value) {
  static unsigned char nh_key[k_block + 48];
  kdf(1, nh_key, sizeof nh_key / 16);
  const uint64_t products = value - 8 * k_block;
  const uint32_t high = (uint32_t)(products >> 32), low = (uint32_t)products;
  const uint32_t sums[8] = {high, high, low, 0, UINT32_MAX, 1, 1, 0};
  for (size_t i = 0; i < k_block / 4; ++i) {
    const uint32_t word = (i < 8 ? sums[i] : 0) - (uint32_t)big_endian(nh_key + 16 * stream + 4 * i, 4);
    for (size_t b = 0; b < 4; ++b) out[4 * i + b] = (unsigned char)(word >> (8 * b));
  }
}

// What random messages do not meet once in 2^32: L1 hashes that POLY-64 sends in two words, and a polynomial between
// 2^64 - 59 and 2^64.
static void show_rare_values(const struct form* form) {
  static const uint64_t k_hashes[] = {UINT64_C(0xFFFFFFFEFFFFFFFF), UINT64_C(0xFFFFFFFF00000000),
                                      UINT64_C(0xFFFFFFFFFFFFFFC5), UINT64_MAX};
  const uint64_t p64 = UINT64_C(0xFFFFFFFFFFFFFFC5);
  unsigned char message[3 * k_block], l2_keys[96];
  _Alignas(16) unsigned char tag[16];
  struct umac_ctx* ctx = form->create(k_rfc_key);
  kdf(2, l2_keys, sizeof l2_keys / 16);
  for (unsigned stream = 0; stream < form->tag_bytes / 4; ++stream) {
    memcpy(message, g_buffer, sizeof message);
    for (size_t i = 0; i < sizeof k_hashes / sizeof *k_hashes; ++i) {
      craft_block(message + k_block, stream, k_hashes[i]);
      tag_of(form, ctx, message, sizeof message, k_rfc_nonce, 0, tag);
      print_tag(form, "marker", stream, tag);
    }
    const uint64_t key = big_endian(l2_keys + 24 * stream, 8) & UINT64_C(0x01FFFFFF01FFFFFF), first = 1;
    craft_block(message, stream, first);
    const uint64_t y = (uint64_t)((__extension__(unsigned __int128)(key + first)) * key % p64);
    craft_block(message + k_block, stream, p64 + 7 - y);
    tag_of(form, ctx, message, 2 * k_block, k_rfc_nonce, 0, tag);
    print_tag(form, "above-p64", stream, tag);
  }
  form->destroy(ctx);
}

// The longest message there may be; and that ours refuses the next byte, for this message alone.
static void show_limit(const struct form* form) {
  struct umac_ctx* ctx = form->create(k_rfc_key);
  _Alignas(16) unsigned char tag[16], again[16];
  for (int i = 0; i < 64; ++i) form->update(ctx, g_buffer, k_max_bytes);
  form->final(ctx, tag, k_rfc_nonce);
  print_tag(form, "limit", (size_t)64 * k_max_bytes, tag);
#ifdef NSSH_UMAC_H
  static const unsigned char k_no_tag[16];
  for (int i = 0; i < 64; ++i) g_failures += form->update(ctx, g_buffer, k_max_bytes) != 1;
  g_failures += form->update(ctx, g_buffer, 1) != 0 || form->update(ctx, g_buffer, 1) != 0;
  g_failures += form->final(ctx, again, k_rfc_nonce) != 0;
  expect_same(form, "too long", 0, again, k_no_tag, form->tag_bytes);
  for (int i = 0; i < 64; ++i) form->update(ctx, g_buffer, k_max_bytes);
  g_failures += form->final(ctx, again, k_rfc_nonce) != 1;
  expect_same(form, "after one that was too long", (size_t)64 * k_max_bytes, again, tag, form->tag_bytes);
#endif
  (void)again;
  form->destroy(ctx);
}

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare_doubles(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void bench(const struct form* form, size_t bytes) {
  double rates[k_rounds];
  struct umac_ctx* ctx = form->create(k_rfc_key);
  const uint64_t packets = (UINT64_C(1) << 26) / bytes;
  for (int round = 0; round < k_rounds; ++round) {
    const double start = cpu_seconds();
    for (uint64_t i = 0; i < packets; ++i) {
      const unsigned char nonce[8] = {
          (unsigned char)round, 0, 0, 0, (unsigned char)(i >> 24), (unsigned char)(i >> 16), (unsigned char)(i >> 8),
          (unsigned char)i};
      _Alignas(16) unsigned char tag[16];
      tag_of(form, ctx, g_buffer, bytes, nonce, 0, tag);
    }
    rates[round] = 1e-6 * (double)(packets * bytes) / (cpu_seconds() - start);
  }
  form->destroy(ctx);
  qsort(rates, k_rounds, sizeof *rates, compare_doubles);
  printf("  %s, packets of %zu bytes: %.0f MB/s\n", form->name, bytes, rates[k_rounds / 2]);
}

int main(int argc, char** argv) {
  const char* mode = argc == 2 ? argv[1] : "";
  if (strcmp(mode, "all") != 0 && strcmp(mode, "golden") != 0 && strcmp(mode, "bench") != 0) {
    fprintf(stderr, "usage: %s all|golden|bench\n", argv[0]);
    return 2;
  }
  fill_random(g_buffer, sizeof g_buffer);
  check_rfc_vectors();
  for (int i = 0; i < 2; ++i) {
    if (strcmp(mode, "bench") == 0) {
      bench(&k_forms[i], 32 * 1024);
      bench(&k_forms[i], 256);
    } else {
      show_lengths(&k_forms[i], strcmp(mode, "golden") == 0);
      show_rare_values(&k_forms[i]);
      show_limit(&k_forms[i]);
    }
  }
  if (g_failures > 0) fprintf(stderr, "%d checks failed\n", g_failures);
  return g_failures == 0 ? 0 : 1;
}
