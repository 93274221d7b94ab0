/*
 * ipc/wire/crc32c.c - see crc32c.h
 *
 * Tables: eight bytes a step ("slicing"), Kounavis & Berry, IEEE Trans Comput 2008;57:1550-1560.
 * Instruction: its latency is three cycles and its throughput one, so three stretches of the data
 * run side by side and are joined by advancing a checksum over zeros, a linear map kept as four
 * tables: Gopal et al., Fast CRC Computation for iSCSI Polynomial Using CRC32 Instruction, Intel
 * white paper 323405, 2011. Joining takes the same map as a product with x^(8 len) modulo the
 * polynomial, the power by repeated squares.
 */
#include "ipc/wire/crc32c.h"

#include <string.h>

#include "ipc/wire/bytes.h"

#if defined(__x86_64__)
#define HAVE_INSTRUCTION 1
#define TARGET           __attribute__((target("sse4.2")))
#define STEP8(crc, v)    ((uint32_t)__builtin_ia32_crc32di((crc), (v)))
#define STEP1(crc, v)    __builtin_ia32_crc32qi((crc), (v))
#elif defined(__aarch64__)
#include <sys/auxv.h>
#define HAVE_INSTRUCTION 1
#ifdef __clang__
#define TARGET        __attribute__((target("crc")))
#define STEP8(crc, v) __builtin_arm_crc32cd((crc), (v))
#define STEP1(crc, v) __builtin_arm_crc32cb((crc), (v))
#else
#define TARGET        __attribute__((target("+crc")))
#define STEP8(crc, v) __builtin_aarch64_crc32cx((crc), (v))
#define STEP1(crc, v) __builtin_aarch64_crc32cb((crc), (v))
#endif
#ifndef HWCAP_CRC32
#define HWCAP_CRC32 (1 << 7) /* Linux, arch/arm64: asm/hwcap.h */
#endif
#else
#define HAVE_INSTRUCTION 0
#endif

#define POLYNOMIAL 0x82f63b78u    /* 0x1EDC6F41, lowest power first */
#define STRETCH    ((size_t)2048) /* bytes; three of them side by side */

/* Filled before main, read-only after that. */
static uint32_t slice[8][256];
static uint32_t advance[4][256]; /* a checksum over STRETCH more zero bytes, by its four bytes */
static uint32_t (*chosen)(uint32_t crc, const void *data, size_t len);

uint32_t bs_crc32c_tables(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint64_t c = ~crc;

	for (; len >= 8; len -= 8, p += 8) {
		c ^= bs_get_le(p, 8);
		c = slice[7][c & 0xff] ^ slice[6][c >> 8 & 0xff] ^ slice[5][c >> 16 & 0xff] ^
		    slice[4][c >> 24 & 0xff] ^ slice[3][c >> 32 & 0xff] ^ slice[2][c >> 40 & 0xff] ^
		    slice[1][c >> 48 & 0xff] ^ slice[0][c >> 56];
	}
	for (; len > 0; len--, p++)
		c = slice[0][(c ^ *p) & 0xff] ^ c >> 8;
	return ~(uint32_t)c;
}

#if HAVE_INSTRUCTION
static inline uint64_t load8(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, 8); /* in the machine's order, which both instructions expect */
	return v;
}

static inline uint32_t advanced(uint32_t c)
{
	return advance[0][c & 0xff] ^ advance[1][c >> 8 & 0xff] ^ advance[2][c >> 16 & 0xff] ^
	       advance[3][c >> 24];
}

TARGET static uint32_t by_instruction(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *p = data;
	uint32_t c = ~crc;

	for (; len >= 3 * STRETCH; len -= 3 * STRETCH, p += 3 * STRETCH) {
		uint32_t c1 = 0;
		uint32_t c2 = 0;

		for (size_t i = 0; i < STRETCH; i += 8) {
			c = STEP8(c, load8(p + i));
			c1 = STEP8(c1, load8(p + STRETCH + i));
			c2 = STEP8(c2, load8(p + 2 * STRETCH + i));
		}
		c = advanced(advanced(c) ^ c1) ^ c2;
	}
	for (; len >= 8; len -= 8, p += 8)
		c = STEP8(c, load8(p));
	for (; len > 0; len--, p++)
		c = STEP1(c, *p);
	return ~c;
}
#endif

uint32_t (*bs_crc32c_instruction(void))(uint32_t crc, const void *data, size_t len)
{
#if defined(__x86_64__)
	__builtin_cpu_init();
	return __builtin_cpu_supports("sse4.2") ? by_instruction : NULL;
#elif defined(__aarch64__)
	return getauxval(AT_HWCAP) & HWCAP_CRC32 ? by_instruction : NULL;
#else
	return NULL;
#endif
}

/* a b modulo the polynomial; lowest power first: x^0 is the highest bit. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (uint32_t bit = UINT32_C(1) << 31; bit != 0; bit >>= 1) {
		product ^= a & bit ? b : 0;
		b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
	}
	return product;
}

uint32_t bs_crc32c_shift(uint64_t len)
{
	uint32_t power = UINT32_C(1) << 31;  /* x^0 */
	uint32_t square = UINT32_C(1) << 23; /* x^8: one byte */

	for (; len > 0; len >>= 1) {
		if (len & 1)
			power = multiply(power, square);
		square = multiply(square, square);
	}
	return power;
}

uint32_t bs_crc32c_join(uint32_t first, uint32_t second, uint32_t shift)
{
	return multiply(first, shift) ^ second;
}

static void fill_slices(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? POLYNOMIAL : 0);
		slice[0][i] = c;
	}
	for (uint32_t i = 0; i < 256; i++)
		for (int s = 1; s < 8; s++)
			slice[s][i] = slice[0][slice[s - 1][i] & 0xff] ^ slice[s - 1][i] >> 8;
}

/* The map is linear: 32 single bits carried over STRETCH zeros give every value. */
static void fill_advance(void)
{
	uint32_t bit[32];

	for (int b = 0; b < 32; b++) {
		bit[b] = UINT32_C(1) << b;
		for (uint32_t n = 0; n < STRETCH; n++)
			bit[b] = slice[0][bit[b] & 0xff] ^ bit[b] >> 8;
	}
	for (int k = 0; k < 4; k++)
		for (uint32_t i = 0; i < 256; i++)
			for (int b = 0; b < 8; b++)
				if (i >> b & 1)
					advance[k][i] ^= bit[8 * k + b];
}

__attribute__((constructor)) static void choose(void)
{
	fill_slices();
	fill_advance();
	chosen = bs_crc32c_instruction();
	if (chosen == NULL)
		chosen = bs_crc32c_tables;
}

uint32_t bs_crc32c(uint32_t crc, const void *data, size_t len)
{
	return chosen(crc, data, len);
}
