/*
 * ipc/seal/seal.h - one direction of a sealed connection: each message encrypted and authenticated
 *
 * The n-th message after the handshake has the nonce n, from 0; the nonce is not sent. So a message
 * that is replayed, left out, out of order, cut or altered does not open, nor does any after it:
 * the connection is over. A key lives for one direction of one connection, and its nonces only
 * rise, so no key sees a nonce twice.
 * The cipher is AES-256-GCM where the processor has it (libsodium has no portable one), else
 * ChaCha20-Poly1305. Nonces are as Noise has them: 4 zeros, then the number, big-endian for AESGCM,
 * little-endian for ChaChaPoly. Allocates nothing. One thread for each direction.
 * Test: test/unit/ipc/seal/test_seal.c
 */
#ifndef BS_IPC_SEAL_SEAL_H
#define BS_IPC_SEAL_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BS_SEAL_TAG 16u /* bytes that sealing adds to a message */

enum bs_suite { BS_SUITE_AESGCM = 1, BS_SUITE_CHACHAPOLY = 2 };

struct bs_seal {
	_Alignas(16) unsigned char state[512]; /* key, or what AES derives from it in advance */
	uint64_t n;                            /* number of the next message */
	enum bs_suite suite;
};

/* The fastest suite that this machine has; readies libsodium. Any thread. */
enum bs_suite bs_suite_best(void);
bool bs_suite_has(enum bs_suite suite);

void bs_seal_start(struct bs_seal *s, enum bs_suite suite, const uint8_t key[32]);
/*
 * Seals in place: msg has len bytes, and room for BS_SEAL_TAG more. False: 2^64 - 1 messages were
 * sealed.
 */
bool bs_seal_close(struct bs_seal *s, unsigned char *msg, size_t len);
/*
 * Opens in place; len includes the tag. False: it is not the sealed message, or not the next one in
 * order.
 */
bool bs_seal_open(struct bs_seal *s, unsigned char *msg, size_t len);
/* Counts a message that is not opened: its number is used up. */
static inline void bs_seal_skip(struct bs_seal *s)
{
	s->n++;
}

/*
 * Encrypts with this key, nonce and associated data: for the handshake. out: len + BS_SEAL_TAG
 * bytes.
 */
void bs_suite_encrypt(enum bs_suite suite, uint8_t *out, const void *in, size_t len, const void *ad,
		      size_t ad_len, uint64_t n, const uint8_t key[32]);
/*
 * Decrypts with this key, nonce and associated data. out: len - BS_SEAL_TAG bytes; len: at least
 * BS_SEAL_TAG.
 */
bool bs_suite_decrypt(enum bs_suite suite, uint8_t *out, const void *in, size_t len, const void *ad,
		      size_t ad_len, uint64_t n, const uint8_t key[32]);

#endif
