/* ipc/seal/seal.c - see seal.h */
#include "ipc/seal/seal.h"

#include <sodium.h>
#include <string.h>

_Static_assert(sizeof(crypto_aead_aes256gcm_state) <= sizeof(((struct bs_seal *)0)->state),
	       "libsodium's state fits");
_Static_assert(crypto_aead_aes256gcm_ABYTES == BS_SEAL_TAG &&
		       crypto_aead_chacha20poly1305_ietf_ABYTES == BS_SEAL_TAG &&
		       crypto_aead_aes256gcm_NPUBBYTES == 12 &&
		       crypto_aead_chacha20poly1305_ietf_NPUBBYTES == 12,
	       "tags of 16 bytes, nonces of 12");

enum bs_suite bs_suite_best(void)
{
	if (sodium_init() < 0) /* without a source of random numbers nothing may be sealed */
		sodium_misuse();
	return crypto_aead_aes256gcm_is_available() ? BS_SUITE_AESGCM : BS_SUITE_CHACHAPOLY;
}

bool bs_suite_has(enum bs_suite suite)
{
	return suite == BS_SUITE_CHACHAPOLY ||
	       (suite == BS_SUITE_AESGCM && bs_suite_best() == BS_SUITE_AESGCM);
}

static void put_nonce(uint8_t nonce[12], enum bs_suite suite, uint64_t n)
{
	memset(nonce, 0, 4);
	for (unsigned i = 0; i < 8; i++)
		nonce[4 + i] = (uint8_t)(n >> (suite == BS_SUITE_AESGCM ? 56 - 8 * i : 8 * i));
}

void bs_suite_encrypt(enum bs_suite suite, uint8_t *out, const void *in, size_t len, const void *ad,
		      size_t ad_len, uint64_t n, const uint8_t key[32])
{
	uint8_t nonce[12];

	put_nonce(nonce, suite, n);
	if (suite == BS_SUITE_AESGCM)
		(void)crypto_aead_aes256gcm_encrypt(out, NULL, in, len, ad, ad_len, NULL, nonce,
						    key);
	else
		(void)crypto_aead_chacha20poly1305_ietf_encrypt(out, NULL, in, len, ad, ad_len,
								NULL, nonce, key);
}

bool bs_suite_decrypt(enum bs_suite suite, uint8_t *out, const void *in, size_t len, const void *ad,
		      size_t ad_len, uint64_t n, const uint8_t key[32])
{
	uint8_t nonce[12];

	put_nonce(nonce, suite, n);
	return suite == BS_SUITE_AESGCM
		       ? crypto_aead_aes256gcm_decrypt(out, NULL, NULL, in, len, ad, ad_len, nonce,
						       key) == 0
		       : crypto_aead_chacha20poly1305_ietf_decrypt(out, NULL, NULL, in, len, ad,
								   ad_len, nonce, key) == 0;
}

void bs_seal_start(struct bs_seal *s, enum bs_suite suite, const uint8_t key[32])
{
	memset(s, 0, sizeof(*s));
	s->suite = suite;
	if (suite == BS_SUITE_AESGCM)
		(void)crypto_aead_aes256gcm_beforenm((crypto_aead_aes256gcm_state *)s->state, key);
	else
		memcpy(s->state, key, 32);
}

bool bs_seal_close(struct bs_seal *s, unsigned char *msg, size_t len)
{
	uint8_t nonce[12];

	if (s->n == UINT64_MAX)
		return false;
	put_nonce(nonce, s->suite, s->n++);
	if (s->suite == BS_SUITE_AESGCM)
		(void)crypto_aead_aes256gcm_encrypt_afternm(
			msg, NULL, msg, len, NULL, 0, NULL, nonce,
			(const crypto_aead_aes256gcm_state *)s->state);
	else
		(void)crypto_aead_chacha20poly1305_ietf_encrypt(msg, NULL, msg, len, NULL, 0, NULL,
								nonce, s->state);
	return true;
}

bool bs_seal_open(struct bs_seal *s, unsigned char *msg, size_t len)
{
	uint8_t nonce[12];
	int rc;

	if (len < BS_SEAL_TAG || s->n == UINT64_MAX)
		return false;
	put_nonce(nonce, s->suite, s->n);
	if (s->suite == BS_SUITE_AESGCM)
		rc = crypto_aead_aes256gcm_decrypt_afternm(
			msg, NULL, NULL, msg, len, NULL, 0, nonce,
			(const crypto_aead_aes256gcm_state *)s->state);
	else
		rc = crypto_aead_chacha20poly1305_ietf_decrypt(msg, NULL, NULL, msg, len, NULL, 0,
							       nonce, s->state);
	s->n += rc == 0;
	return rc == 0;
}
