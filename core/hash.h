/*
 * core/hash.h - FNV-1a (Fowler, Noll, Vo), 64 bits: keys and checksums of files in the cache
 *
 * It finds damage; it is no protection against forgery. h: BS_HASH_START, or the hash of the bytes
 * before.
 */
#ifndef BS_CORE_HASH_H
#define BS_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BS_HASH_START UINT64_C(14695981039346656037)

static inline uint64_t bs_hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * UINT64_C(1099511628211);
	return h;
}

/*
 * Hashes words of 8 bytes, for large arrays; the last word is filled up with zeros. The upper half
 * is folded down after each word, because the product carries bits only upwards.
 */
static inline uint64_t bs_hash_words(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = (const unsigned char *)bytes;

	for (size_t i = 0; i < n; i += 8) {
		uint64_t word = 0;

		memcpy(&word, p + i, n - i < 8 ? n - i : 8);
		h = (h ^ word) * UINT64_C(1099511628211);
		h ^= h >> 32;
	}
	return h;
}

#endif
