/* ipc/seal/ik.c - see ik.h; the functions in lower case carry Noise's own names */
#include "ipc/seal/ik.h"

#include <sodium.h>
#include <string.h>

/* ---- the symmetric state ---- */

static void mix_hash(struct bs_ik *n, const void *data, size_t len)
{
	crypto_hash_sha256_state s;

	(void)crypto_hash_sha256_init(&s);
	(void)crypto_hash_sha256_update(&s, n->h, sizeof(n->h));
	(void)crypto_hash_sha256_update(&s, data, len);
	(void)crypto_hash_sha256_final(&s, n->h);
}

static void hmac(uint8_t out[32], const uint8_t key[32], const void *a, size_t a_len, uint8_t last)
{
	crypto_auth_hmacsha256_state s;

	(void)crypto_auth_hmacsha256_init(&s, key, 32);
	(void)crypto_auth_hmacsha256_update(&s, a, a_len);
	if (last != 0)
		(void)crypto_auth_hmacsha256_update(&s, &last, 1);
	(void)crypto_auth_hmacsha256_final(&s, out);
	sodium_memzero(&s, sizeof(s));
}

/* HKDF with two outputs. first may be the same memory as key. */
static void hkdf(uint8_t first[32], uint8_t second[32], const uint8_t key[32], const void *input,
		 size_t len)
{
	uint8_t temp[32];
	uint8_t out[33];

	hmac(temp, key, input, len, 0);
	hmac(out, temp, NULL, 0, 1);
	memcpy(first, out, 32);
	hmac(second, temp, out, 32, 2);
	sodium_memzero(temp, sizeof(temp));
	sodium_memzero(out, sizeof(out));
}

static int mix_key(struct bs_ik *n, const uint8_t secret[32], const uint8_t pub[32])
{
	uint8_t shared[32];
	int rc = crypto_scalarmult_curve25519(shared, secret, pub) == 0 ? 0 : BS_ERR_KEY;

	if (rc == 0)
		hkdf(n->ck, n->k, n->ck, shared, sizeof(shared));
	n->n = 0;
	n->keyed = true;
	sodium_memzero(shared, sizeof(shared));
	return rc;
}

static void encrypt_and_hash(struct bs_ik *n, uint8_t *out, const void *in, size_t len)
{
	bs_suite_encrypt(n->suite, out, in, len, n->h, sizeof(n->h), n->n++, n->k);
	mix_hash(n, out, len + BS_SEAL_TAG);
}

static int decrypt_and_hash(struct bs_ik *n, uint8_t *out, const uint8_t *in, size_t len)
{
	if (!bs_suite_decrypt(n->suite, out, in, len, n->h, sizeof(n->h), n->n, n->k))
		return BS_ERR_KEY;
	n->n++;
	mix_hash(n, in, len);
	return 0;
}

/* ---- the handshake ---- */

void bs_ik_public(uint8_t pub[BS_IK_KEY], const uint8_t secret[BS_IK_KEY])
{
	(void)crypto_scalarmult_curve25519_base(pub, secret);
}

void bs_ik_set_ephemeral(struct bs_ik *n, const uint8_t secret[BS_IK_KEY])
{
	memcpy(n->e.secret, secret, sizeof(n->e.secret));
	bs_ik_public(n->e.pub, n->e.secret);
}

void bs_ik_start(struct bs_ik *n, enum bs_suite suite, const char *prologue,
		 const struct bs_ik_pair *own, const uint8_t *remote)
{
	const char *name = suite == BS_SUITE_AESGCM ? "Noise_IK_25519_AESGCM_SHA256"
						    : "Noise_IK_25519_ChaChaPoly_SHA256";

	memset(n, 0, sizeof(*n));
	n->suite = suite;
	n->initiator = remote != NULL;
	memcpy(n->h, name, strlen(name)); /* a name of at most 32 bytes is not hashed */
	memcpy(n->ck, n->h, sizeof(n->ck));
	n->s = *own;
	mix_hash(n, prologue, strlen(prologue));
	if (remote != NULL)
		memcpy(n->rs, remote, sizeof(n->rs));
	mix_hash(n, remote != NULL ? n->rs : n->s.pub, sizeof(n->rs));
}

/*
 * Draws the ephemeral key. This is done when it is needed: a peer without a key does not cost a
 * draw.
 */
static void draw(struct bs_ik *n)
{
	uint8_t e[BS_IK_KEY];

	if (!sodium_is_zero(n->e.pub, sizeof(n->e.pub)))
		return;
	randombytes_buf(e, sizeof(e));
	bs_ik_set_ephemeral(n, e);
	sodium_memzero(e, sizeof(e));
}

int bs_ik_first(struct bs_ik *n, uint8_t *out, const void *payload, size_t len)
{
	draw(n);
	memcpy(out, n->e.pub, sizeof(n->e.pub));
	mix_hash(n, n->e.pub, sizeof(n->e.pub));
	if (mix_key(n, n->e.secret, n->rs) != 0)
		return BS_ERR_KEY;
	encrypt_and_hash(n, out + 32, n->s.pub, sizeof(n->s.pub));
	if (mix_key(n, n->s.secret, n->rs) != 0)
		return BS_ERR_KEY;
	encrypt_and_hash(n, out + 80, payload, len);
	return 0;
}

int bs_ik_read_first(struct bs_ik *n, const uint8_t *msg, size_t len)
{
	if (len < BS_IK_FIRST)
		return BS_ERR_KEY;
	memcpy(n->re, msg, sizeof(n->re));
	mix_hash(n, n->re, sizeof(n->re));
	if (mix_key(n, n->s.secret, n->re) != 0)
		return BS_ERR_KEY;
	return decrypt_and_hash(n, n->rs, msg + 32, sizeof(n->rs) + BS_SEAL_TAG);
}

int bs_ik_read_rest(struct bs_ik *n, const uint8_t *msg, size_t len, void *payload)
{
	if (len < BS_IK_FIRST || mix_key(n, n->s.secret, n->rs) != 0)
		return BS_ERR_KEY;
	return decrypt_and_hash(n, payload, msg + 80, len - 80);
}

int bs_ik_second(struct bs_ik *n, uint8_t *out, const void *payload, size_t len)
{
	draw(n);
	memcpy(out, n->e.pub, sizeof(n->e.pub));
	mix_hash(n, n->e.pub, sizeof(n->e.pub));
	if (mix_key(n, n->e.secret, n->re) != 0 || mix_key(n, n->e.secret, n->rs) != 0)
		return BS_ERR_KEY;
	encrypt_and_hash(n, out + 32, payload, len);
	return 0;
}

int bs_ik_read_second(struct bs_ik *n, const uint8_t *msg, size_t len, void *payload)
{
	if (len < BS_IK_SECOND)
		return BS_ERR_KEY;
	memcpy(n->re, msg, sizeof(n->re));
	mix_hash(n, n->re, sizeof(n->re));
	if (mix_key(n, n->e.secret, n->re) != 0 || mix_key(n, n->s.secret, n->re) != 0)
		return BS_ERR_KEY;
	return decrypt_and_hash(n, payload, msg + 32, len - 32);
}

void bs_ik_split(struct bs_ik *n, struct bs_seal *out, struct bs_seal *in)
{
	uint8_t key[2][32];

	hkdf(key[0], key[1], n->ck, NULL, 0);
	bs_seal_start(out, n->suite, key[n->initiator ? 0 : 1]);
	bs_seal_start(in, n->suite, key[n->initiator ? 1 : 0]);
	sodium_memzero(key, sizeof(key));
}
