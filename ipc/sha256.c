/* ipc/sha256.c - see sha256.h */
#include "ipc/sha256.h"

#include <sodium.h>

void bs_sha256(char hex[BS_SHA256_HEX], const void *data, size_t len)
{
	unsigned char hash[crypto_hash_sha256_BYTES];

	(void)crypto_hash_sha256(hash, data, len);
	(void)sodium_bin2hex(hex, BS_SHA256_HEX, hash, sizeof(hash));
}
_Static_assert(BS_SHA256_HEX == 2 * crypto_hash_sha256_BYTES + 1, "and a NUL");
