/*
 * core/hash.h - FNV-1a (Fowler, Noll, Vo), 64 bits: keys and checksums of files in the cache
 *
 * Finds damage, keeps nobody out. h: BS_HASH_START, or the hash of what comes before.
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
 * By words of 8 bytes, for large arrays; a rest is filled with zeros. Upper halves are folded down:
 * the product alone never takes them there.
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
