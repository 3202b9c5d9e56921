/* SPDX-License-Identifier: Apache-2.0
 * What OpenSSH's umac.c takes from the rest of OpenSSH, so that nssh/test-umac can compile it without configuring the
 * tree. It stands for includes.h, xmalloc.h, misc.h and openbsd-compat/openssl-compat.h. Loads are calls, as there. */
#ifndef NSSH_UMAC_SHIM_H
#define NSSH_UMAC_SHIM_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#define WITH_OPENSSL 1
#define NSSH_CALLED __attribute__((noinline, unused)) static

NSSH_CALLED void* xcalloc(size_t count, size_t bytes) {
  void* memory = calloc(count, bytes);
  if (memory == NULL) abort();
  return memory;
}

NSSH_CALLED void freezero(void* memory, size_t bytes) {
  if (memory != NULL) explicit_bzero(memory, bytes);
  free(memory);
}

NSSH_CALLED uint32_t get_u32(const void* from) {
  const uint8_t* p = from;
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | (uint32_t)p[3];
}

NSSH_CALLED uint32_t get_u32_le(const void* from) {
  const uint8_t* p = from;
  return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | (uint32_t)p[0];
}

NSSH_CALLED void put_u32(void* to, uint32_t value) {
  uint8_t* p = to;
  for (int i = 0; i < 4; ++i) p[i] = (uint8_t)(value >> (24 - 8 * i));
}

NSSH_CALLED void put_u32_le(void* to, uint32_t value) {
  uint8_t* p = to;
  for (int i = 0; i < 4; ++i) p[i] = (uint8_t)(value >> (8 * i));
}

#endif
