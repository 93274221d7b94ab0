/*
 * ipc/wire/envelope.c - see envelope.h
 *
 * The checksum by tables: eight bytes per step ("slicing"), Kounavis & Berry, IEEE Trans Comput
 * 2008;57:1550-1560. The checksum by the instruction: its latency is three cycles and its
 * throughput one, so three stretches of the data run side by side. They are joined by advancing a
 * checksum over zeros, a linear map kept as four tables: Gopal et al., Fast CRC Computation for
 * iSCSI Polynomial Using CRC32 Instruction, Intel white paper 323405, 2011. bs_crc32c_join uses the
 * same map as a product with x^(8 len) modulo the polynomial, with the power by repeated squares.
 */
#include "ipc/wire/envelope.h"

#include <string.h>

#include "ipc/wire/bytes.h"

/* ---- CRC-32C ---- */

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
/* Linux' flag for the processor's CRC instructions (arch/arm64: asm/hwcap.h) */
#define HWCAP_CRC32 (1 << 7)
#endif
#else
#define HAVE_INSTRUCTION 0
#endif

#define POLYNOMIAL 0x82f63b78u    /* polynomial 0x1EDC6F41 with its lowest power first */
#define STRETCH    ((size_t)2048) /* bytes of a stretch; three run side by side */

/* These tables are filled before main and read-only after that. */
static uint32_t slice[8][256];
/* map of a checksum over STRETCH more zero bytes, by each of its four bytes */
static uint32_t advance[4][256];
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

	memcpy(&v, p, 8); /* bytes in the machine's order, which both instructions expect */
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

/* The product a b modulo the polynomial; lowest power first: x^0 is the highest bit. */
static uint32_t multiply_polynomials(uint32_t a, uint32_t b)
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
	uint32_t power = UINT32_C(1) << 31;  /* the polynomial x^0 */
	uint32_t square = UINT32_C(1) << 23; /* the polynomial x^8, which is one byte of zeros */

	for (; len > 0; len >>= 1) {
		if (len & 1)
			power = multiply_polynomials(power, square);
		square = multiply_polynomials(square, square);
	}
	return power;
}

uint32_t bs_crc32c_join(uint32_t first, uint32_t second, uint32_t shift)
{
	return multiply_polynomials(first, shift) ^ second;
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

/* Fills the map over STRETCH zeros. It is linear: 32 single bits carried over give every value. */
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

/* ---- the envelope ---- */

/* Offsets of the envelope's fields in bytes. */
enum {
	AT_MAGIC = 0,
	AT_VERSION = 4,
	AT_KIND = 6,
	AT_LENGTH = 8,
	AT_SESSION = 16,
	AT_SEQ = 24,
	AT_TIME = 32,
	AT_CRC = 40,
	AT_RESERVED = 44,
};

/* Computes the checksum of the envelope alone. */
static uint32_t checksum(const unsigned char envelope[BS_WIRE_BYTES])
{
	static const unsigned char zero[4];
	uint32_t crc = bs_crc32c(0, envelope, AT_CRC);

	crc = bs_crc32c(crc, zero, sizeof(zero));
	return bs_crc32c(crc, envelope + AT_RESERVED, BS_WIRE_BYTES - AT_RESERVED);
}

static uint32_t continued(uint32_t crc, const void *payload, size_t payload_len)
{
	return payload_len > 0 ? bs_crc32c(crc, payload, payload_len) : crc;
}

/* Writes all fields but the checksum. */
static void write_fields(unsigned char out[BS_WIRE_BYTES], const struct bs_wire *w)
{
	memset(out, 0, BS_WIRE_BYTES);
	bs_put_le(out + AT_MAGIC, BS_WIRE_MAGIC, 4);
	bs_put_le(out + AT_VERSION, w->version != 0 ? w->version : BS_WIRE_VERSION, 2);
	bs_put_le(out + AT_KIND, w->kind, 2);
	bs_put_le(out + AT_LENGTH, w->payload_len, 8);
	bs_put_le(out + AT_SESSION, w->session, 8);
	bs_put_le(out + AT_SEQ, w->seq, 8);
	bs_put_le(out + AT_TIME, (uint64_t)w->time_ns, 8);
}

void bs_wire_encode(unsigned char out[BS_WIRE_BYTES], struct bs_wire *w, const void *payload,
		    size_t payload_len)
{
	w->payload_len = payload_len;
	write_fields(out, w);
	w->crc = continued(checksum(out), payload, payload_len);
	bs_put_le(out + AT_CRC, w->crc, 4);
}

void bs_wire_sum(struct bs_wire_sum *s, const void *payload, size_t payload_len)
{
	s->payload_len = payload_len;
	s->crc = continued(0, payload, payload_len);
	s->shift = bs_crc32c_shift(payload_len);
}

void bs_wire_seal(unsigned char out[BS_WIRE_BYTES], struct bs_wire *w, const struct bs_wire_sum *s)
{
	w->payload_len = s->payload_len;
	write_fields(out, w);
	w->crc = bs_crc32c_join(checksum(out), s->crc, s->shift);
	bs_put_le(out + AT_CRC, w->crc, 4);
}

static void read_fields(struct bs_wire *w, const unsigned char *msg)
{
	w->kind = (uint16_t)bs_get_le(msg + AT_KIND, 2);
	w->payload_len = bs_get_le(msg + AT_LENGTH, 8);
	w->session = bs_get_le(msg + AT_SESSION, 8);
	w->seq = bs_get_le(msg + AT_SEQ, 8);
	w->time_ns = (int64_t)bs_get_le(msg + AT_TIME, 8);
	w->crc = (uint32_t)bs_get_le(msg + AT_CRC, 4);
	w->version = (uint16_t)bs_get_le(msg + AT_VERSION, 2);
}

/* Reads all fields but payload length and checksum; the result is not verified. */
static int read_envelope(struct bs_wire *w, const unsigned char *msg, size_t len,
			 struct bs_fail *why)
{
	if (len < BS_WIRE_BYTES)
		return bs_fail(why, BS_ERR_LENGTH, "message of %zu bytes, an envelope has %u", len,
			       BS_WIRE_BYTES);
	if (bs_get_le(msg + AT_MAGIC, 4) != BS_WIRE_MAGIC)
		return bs_fail(why, BS_ERR_MAGIC,
			       "envelope starts with %02x %02x %02x %02x, not BSD1", msg[0], msg[1],
			       msg[2], msg[3]);
	if (bs_get_le(msg + AT_VERSION, 2) != BS_WIRE_VERSION)
		return bs_fail(why, BS_ERR_VERSION,
			       "a message of version %u, this side speaks version %u",
			       (unsigned)bs_get_le(msg + AT_VERSION, 2), BS_WIRE_VERSION);
	for (size_t i = AT_RESERVED; i < BS_WIRE_BYTES; i++)
		if (msg[i] != 0)
			return bs_fail(
				why, BS_ERR_VERSION,
				"envelope byte %zu is %02x, reserved bytes are 0 in version %u", i,
				msg[i], BS_WIRE_VERSION);
	read_fields(w, msg);
	if (!bs_wire_kind_known(w->kind))
		return bs_fail(why, BS_ERR_KIND, "unknown kind of message %u", w->kind);
	return 0;
}

uint64_t bs_wire_session(const unsigned char msg[BS_WIRE_BYTES])
{
	return bs_get_le(msg + AT_SESSION, 8);
}

int bs_wire_decode(struct bs_wire *w, const unsigned char *msg, size_t len,
		   const unsigned char **payload, struct bs_fail *why)
{
	uint32_t crc;
	int rc = read_envelope(w, msg, len, why);

	if (rc != 0)
		return rc;
	if (w->payload_len != len - BS_WIRE_BYTES)
		return bs_fail(
			why, BS_ERR_LENGTH,
			"envelope states a payload of %llu bytes, %zu came (kind %u, seq %llu)",
			(unsigned long long)w->payload_len, len - BS_WIRE_BYTES, w->kind,
			(unsigned long long)w->seq);
	crc = continued(checksum(msg), msg + BS_WIRE_BYTES, len - BS_WIRE_BYTES);
	if (crc != w->crc)
		return bs_fail(why, BS_ERR_CRC,
			       "checksum is %08x, the envelope states %08x (kind %u, seq %llu)",
			       crc, w->crc, w->kind, (unsigned long long)w->seq);
	*payload = msg + BS_WIRE_BYTES;
	return 0;
}

bool bs_wire_is_previous(struct bs_wire *w, const unsigned char *msg, size_t len)
{
	if (len < BS_WIRE_BYTES || bs_get_le(msg + AT_MAGIC, 4) != BS_WIRE_MAGIC ||
	    bs_get_le(msg + AT_VERSION, 2) != BS_WIRE_PREVIOUS)
		return false;
	read_fields(w, msg);
	return w->payload_len == len - BS_WIRE_BYTES &&
	       w->crc == continued(checksum(msg), msg + BS_WIRE_BYTES, len - BS_WIRE_BYTES);
}

bool bs_wire_is_ours(struct bs_wire *w, const unsigned char envelope[BS_WIRE_BYTES], uint64_t len)
{
	if (bs_get_le(envelope + AT_MAGIC, 4) != BS_WIRE_MAGIC ||
	    bs_get_le(envelope + AT_VERSION, 2) != BS_WIRE_VERSION)
		return false;
	read_fields(w, envelope);
	return w->payload_len == len - BS_WIRE_BYTES;
}
