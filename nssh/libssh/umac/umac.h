// SPDX-License-Identifier: Apache-2.0
// UMAC (RFC 4418) with tags of 64 and 128 bits, for the MACs umac-64@openssh.com, umac-128@openssh.com and their -etm
// forms in our build of libssh. Names and meaning are those of OpenSSH's umac.h, so that either can stand in for the
// other; the code is our own and needs nothing but libcrypto.
//
// A context belongs to one thread at a time. Message, tag and nonce may lie at any address.
#ifndef NSSH_UMAC_H
#define NSSH_UMAC_H

#ifdef __cplusplus
extern "C" {
#endif

struct umac_ctx;

// A context for messages under `key` (16 bytes, copied). NULL: no memory, or libcrypto refused AES-128.
struct umac_ctx* umac_new(const unsigned char key[]);

// The next `len` bytes of the message, cut in any way. 1, or 0 if the message gets longer than 16 MiB (2^24 bytes):
// what the RFC's polynomial hash does beyond is not implemented. After a 0 umac_final gives 0 as well.
int umac_update(struct umac_ctx* ctx, const unsigned char* input, long len);

// Ends the message and writes its tag (8 bytes, big-endian as on the wire); the next update begins another message.
// `nonce` is 8 bytes: for SSH the packet's sequence number, big-endian. No two messages may share key and nonce.
// 1, or 0 if there is no tag: the message was too long or libcrypto failed. `tag` is then zeros.
int umac_final(struct umac_ctx* ctx, unsigned char tag[], const unsigned char nonce[8]);

// Erases and frees the context; NULL is allowed. Always 1.
int umac_delete(struct umac_ctx* ctx);

// The same with tags of 16 bytes.
struct umac_ctx* umac128_new(const unsigned char key[]);
int umac128_update(struct umac_ctx* ctx, const unsigned char* input, long len);
int umac128_final(struct umac_ctx* ctx, unsigned char tag[], const unsigned char nonce[8]);
int umac128_delete(struct umac_ctx* ctx);

#ifdef __cplusplus
}
#endif

#endif
