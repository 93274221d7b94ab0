/* ipc/seal/sign.c - see sign.h */
#include "ipc/seal/sign.h"

#include <sodium.h>
#include <string.h>

#include "ipc/seal/keys.h"

#define SIGN_CONTEXT "bs_sign_"

_Static_assert(crypto_sign_PUBLICKEYBYTES == BS_SIGN_KEY && crypto_sign_BYTES == BS_SIGN_BYTES &&
		       crypto_sign_SECRETKEYBYTES == sizeof(((struct bs_signer *)0)->secret) &&
		       crypto_sign_SEEDBYTES == 32 && crypto_kdf_KEYBYTES == BS_IK_KEY &&
		       crypto_generichash_BYTES == BS_CHAIN,
	       "keys, signatures and hashes of libsodium's sizes");
_Static_assert(sodium_base64_ENCODED_LEN(BS_SIGN_BYTES, sodium_base64_VARIANT_ORIGINAL) ==
		       BS_SIGN_TEXT,
	       "a signature in words");

int bs_signer_read(struct bs_signer *s, const char *path, struct bs_fail *why)
{
	struct bs_ik_pair pair;
	uint8_t seed[crypto_sign_SEEDBYTES];
	const int rc = bs_seal_key_read(&pair, path, why);

	memset(s, 0, sizeof(*s));
	if (rc == 0) {
		(void)crypto_kdf_derive_from_key(seed, sizeof(seed), 1, SIGN_CONTEXT, pair.secret);
		(void)crypto_sign_seed_keypair(s->pub, s->secret, seed);
	}
	sodium_memzero(seed, sizeof(seed));
	sodium_memzero(&pair, sizeof(pair));
	return rc;
}

void bs_sign(uint8_t signature[BS_SIGN_BYTES], const struct bs_signer *s, const void *bytes,
	     size_t len)
{
	(void)crypto_sign_detached(signature, NULL, bytes, len, s->secret);
}

bool bs_signed_by(const uint8_t signature[BS_SIGN_BYTES], const uint8_t key[BS_SIGN_KEY],
		  const void *bytes, size_t len)
{
	return crypto_sign_verify_detached(signature, bytes, len, key) == 0;
}

void bs_chain_add(uint8_t chain[BS_CHAIN], const void *bytes, size_t len)
{
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, NULL, 0, BS_CHAIN);
	(void)crypto_generichash_update(&state, chain, BS_CHAIN);
	(void)crypto_generichash_update(&state, bytes, len);
	(void)crypto_generichash_final(&state, chain, BS_CHAIN);
}

void bs_hash_line(uint8_t hash[BS_CHAIN], uint64_t number, const char *text, size_t len)
{
	memset(hash, 0, BS_CHAIN);
	for (unsigned i = 0; i < 8; i++)
		hash[i] = (uint8_t)(number >> 8 * i);
	bs_chain_add(hash, text, len);
}

void bs_sign_text(char out[BS_SIGN_TEXT], const struct bs_signer *s, const uint8_t hash[BS_CHAIN])
{
	uint8_t signature[BS_SIGN_BYTES];

	bs_sign(signature, s, hash, BS_CHAIN);
	(void)sodium_bin2base64(out, BS_SIGN_TEXT, signature, sizeof(signature),
				sodium_base64_VARIANT_ORIGINAL);
}

bool bs_signed_text(const char *text, const uint8_t key[BS_SIGN_KEY], const uint8_t hash[BS_CHAIN])
{
	uint8_t signature[BS_SIGN_BYTES];
	size_t n = 0;

	return strlen(text) >= BS_SIGN_TEXT - 1 &&
	       sodium_base642bin(signature, sizeof(signature), text, BS_SIGN_TEXT - 1, NULL, &n,
				 NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       n == sizeof(signature) && bs_signed_by(signature, key, hash, BS_CHAIN);
}
