/*
 * ipc/seal/sign.h - what a node signs: seals of logs, audit lines, certificates
 *
 * The pair is one of Ed25519, derived (BLAKE2b, libsodium's crypto_kdf, context "bs_sign_", number
 * 1) from the secret of a key file as `boreside key new` makes it. So a node may have one file for
 * both uses. A hash is BLAKE2b of 32 bytes. Allocates nothing. Any thread.
 * Test: test/unit/ipc/seal/test_sign.c
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
/* Computes the next hash of a chain: over the last one and these bytes. */
void bs_chain_add(uint8_t chain[BS_CHAIN], const void *bytes, size_t len);
/* Computes the hash of a line of several: over its number, 32 bytes little-endian, and its text. */
void bs_hash_line(uint8_t hash[BS_CHAIN], uint64_t number, const char *text, size_t len);
/* The signature of a hash in base64. What follows it in text is not looked at. */
void bs_sign_text(char out[BS_SIGN_TEXT], const struct bs_signer *s, const uint8_t hash[BS_CHAIN]);
bool bs_signed_text(const char *text, const uint8_t key[BS_SIGN_KEY], const uint8_t hash[BS_CHAIN]);

#endif
