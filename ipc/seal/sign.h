/*
 * ipc/seal/sign.h - what a node signs: seals of logs, audit lines, certificates
 *
 * The pair is one of Ed25519, derived (BLAKE2b, libsodium's crypto_kdf, context "bs_sign_", number
 * 1) from the secret of a key file as `boreside key new` makes it. So a node may have one file for
 * both uses. A hash is BLAKE2b of 32 bytes; a chain's next hash is over the last one and the next
 * bytes. Allocates nothing but in file's two. Any thread. Test: test/unit/ipc/seal/test_sign.c
 */
#ifndef BS_IPC_SEAL_SIGN_H
#define BS_IPC_SEAL_SIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"

#define BS_SIGN_KEY   32u /* bytes of a public key */
#define BS_SIGN_BYTES 64u /* bytes of a signature */
#define BS_SIGN_TEXT  89u /* bytes of a signature in base64, with its terminator */
#define BS_CHAIN      32u /* bytes of a hash */

struct bs_signer {
	uint8_t pub[BS_SIGN_KEY];
	uint8_t secret[64];
};

/* Derives the pair of a key file (keys.h has its rules). Wipe it (bs_seal_wipe_bytes). */
int bs_signer_read(struct bs_signer *s, const char *path, struct bs_fail *why);
void bs_sign(uint8_t signature[BS_SIGN_BYTES], const struct bs_signer *s, const void *bytes,
	     size_t len);
bool bs_signed_by(const uint8_t signature[BS_SIGN_BYTES], const uint8_t key[BS_SIGN_KEY],
		  const void *bytes, size_t len);
/* Signs the number, 8 bytes little-endian, and the text behind it: a line of several. */
void bs_sign_line(char out[BS_SIGN_TEXT], const struct bs_signer *s, uint64_t number,
		  const char *text, size_t len);
bool bs_signed_line(const char *signature, const uint8_t key[BS_SIGN_KEY], uint64_t number,
		    const char *text, size_t len);
void bs_chain_add(uint8_t chain[BS_CHAIN], const void *bytes, size_t len);

/* Writes FILE.sig: one line, the signature of FILE's hash in base64. BS_ERR_IO. */
int bs_sign_file(const struct bs_signer *s, const char *file, struct bs_fail *why);
/* 0: FILE.sig is the key's of FILE as it is. BS_ERR_IO; BS_ERR_FORMAT; BS_ERR_KEY: it is not. */
int bs_signed_file(const uint8_t key[BS_SIGN_KEY], const char *file, struct bs_fail *why);

#endif
