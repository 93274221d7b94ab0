/*
 * ipc/seal/ik.h - the handshake of a sealed connection: Noise's pattern IK, as functions of bytes
 *
 * initiator: start, first, read_second, split. responder: start, read_first, read_rest, second,
 * split. The initiator knows the responder's static key; it sends its own, encrypted. Both make a
 * fresh ephemeral key for each handshake, so the keys that split gives are never the same twice,
 * and an attacker who learns a static key later cannot read what was sent before.
 * read_first costs one product of the curve. After it the caller looks whether it knows the key
 * (rs), and goes on only if it does.
 *
 * Names of the suites in Noise's terms: Noise_IK_25519_AESGCM_SHA256 and
 * Noise_IK_25519_ChaChaPoly_SHA256. Curve, ciphers, hash and HMAC are libsodium's.
 * Results: 0, or BS_ERR_KEY (altered, or made with other keys): the handshake is over then.
 * Allocates nothing, knows no socket. Wipe the struct at the handshake's end, whatever its result.
 * Source: Trevor Perrin, The Noise Protocol Framework, revision 34, sections 5, 7.5, 9.
 * Test: test/unit/ipc/seal/test_ik.c
 */
#ifndef BS_IPC_SEAL_IK_H
#define BS_IPC_SEAL_IK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "ipc/seal/seal.h"

#define BS_IK_KEY    32u
#define BS_IK_FIRST  96u /* bytes of the first message, without its payload */
#define BS_IK_SECOND 48u

struct bs_ik_pair {
	uint8_t secret[BS_IK_KEY], pub[BS_IK_KEY];
};

struct bs_ik {
	enum bs_suite suite;
	bool initiator, keyed;
	uint64_t n;
	uint8_t ck[32], h[32], k[32];
	struct bs_ik_pair s, e;               /* own pairs of keys: static, ephemeral */
	uint8_t rs[BS_IK_KEY], re[BS_IK_KEY]; /* public keys of the other side: static, ephemeral */
};

/* Computes the public key of a secret one. */
void bs_ik_public(uint8_t pub[BS_IK_KEY], const uint8_t secret[BS_IK_KEY]);

/*
 * Starts a handshake. prologue: must be the same on both sides. own: the static key. remote: the
 * responder's static key; NULL: this side is the responder. libsodium must be ready
 * (bs_suite_best).
 */
void bs_ik_start(struct bs_ik *n, enum bs_suite suite, const char *prologue,
		 const struct bs_ik_pair *own, const uint8_t *remote);
/*
 * Replaces the ephemeral key, which is drawn at random: for tests against published vectors alone.
 */
void bs_ik_set_ephemeral(struct bs_ik *n, const uint8_t secret[BS_IK_KEY]);

/* Initiator: writes the first message. out: BS_IK_FIRST + len bytes. */
int bs_ik_first(struct bs_ik *n, uint8_t *out, const void *payload, size_t len);
/*
 * Responder: reads the sender's static key into n->rs; that the sender owns it is not proved yet.
 * len: bytes of the whole message.
 */
int bs_ik_read_first(struct bs_ik *n, const uint8_t *msg, size_t len);
/* Responder: checks that the sender owns that key. payload: len - BS_IK_FIRST bytes. */
int bs_ik_read_rest(struct bs_ik *n, const uint8_t *msg, size_t len, void *payload);
/* Responder: writes the second message. out: BS_IK_SECOND + len bytes. */
int bs_ik_second(struct bs_ik *n, uint8_t *out, const void *payload, size_t len);
/* Initiator: reads the second message. payload: len - BS_IK_SECOND bytes. */
int bs_ik_read_second(struct bs_ik *n, const uint8_t *msg, size_t len, void *payload);

/* Gives the two directions of the connection: out for messages sent, in for messages received. */
void bs_ik_split(struct bs_ik *n, struct bs_seal *out, struct bs_seal *in);

#endif
