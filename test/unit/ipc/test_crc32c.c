/* test/unit/ipc/test_crc32c.c - the published check values; both implementations agree */
/* Holds: W17 */
#include "ipc/wire/envelope.h"
#include "test/support/check.h"

#include <string.h>

/* Bit by bit from the definition, for comparison. */
static uint32_t by_bits(const unsigned char *p, size_t len)
{
	uint32_t c = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		c ^= p[i];
		for (int b = 0; b < 8; b++)
			c = c & 1 ? c >> 1 ^ 0x82f63b78u : c >> 1;
	}
	return ~c;
}

/* RFC 3720, appendix B.4: 32 bytes of zeros, of ones, counting up, counting down. */
static void published(uint32_t (*crc)(uint32_t, const void *, size_t), const char *who)
{
	unsigned char b[4][32];

	for (int i = 0; i < 32; i++) {
		b[0][i] = 0;
		b[1][i] = 0xff;
		b[2][i] = (unsigned char)i;
		b[3][i] = (unsigned char)(31 - i);
	}
	CHECK(crc(0, "123456789", 9) == 0xe3069283u, "%s: check value", who);
	CHECK(crc(0, b[0], 32) == 0x8a9136aau && crc(0, b[1], 32) == 0x62a8ab43u &&
		      crc(0, b[2], 32) == 0x46dd794eu && crc(0, b[3], 32) == 0x113fdb5cu,
	      "%s: RFC 3720's vectors", who);
	CHECK(crc(0, NULL, 0) == 0 && crc(0x12345678u, NULL, 0) == 0x12345678u,
	      "%s: no bytes change nothing", who);
}

static void against_bits(uint32_t (*crc)(uint32_t, const void *, size_t), const char *who)
{
	static unsigned char buf[40000];
	uint64_t seed = 7;
	int bad = 0;
	int bad_chain = 0;

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (unsigned char)(256 * check_uniform(&seed));
	for (int n = 0; n < 600; n++) {
		size_t at = (size_t)(check_uniform(&seed) * 64);
		size_t len = n < 200 ? (size_t)n : (size_t)(check_uniform(&seed) * 39000);
		size_t cut = (size_t)(check_uniform(&seed) * (double)(len + 1));
		uint32_t want = by_bits(buf + at, len);

		bad += crc(0, buf + at, len) != want;
		bad_chain += crc(crc(0, buf + at, cut), buf + at + cut, len - cut) != want;
	}
	CHECK(bad == 0, "%s: 600 lengths and alignments against the definition: %d differ", who,
	      bad);
	CHECK(bad_chain == 0, "%s: the same in two pieces: %d differ", who, bad_chain);
}

static void joined(void)
{
	static unsigned char buf[70000];
	uint64_t seed = 11;
	int bad = 0;

	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = (unsigned char)(256 * check_uniform(&seed));
	for (int n = 0; n < 300; n++) {
		size_t len = n < 100 ? (size_t)n : (size_t)(check_uniform(&seed) * 69000);
		size_t cut = (size_t)(check_uniform(&seed) * (double)(len + 1));

		bad += bs_crc32c_join(bs_crc32c(0, buf, cut), bs_crc32c(0, buf + cut, len - cut),
				      bs_crc32c_shift(len - cut)) != bs_crc32c(0, buf, len);
	}
	CHECK(bad == 0, "two stretches' checksums joined: 300 lengths and cuts, %d differ", bad);
}

int main(void)
{
	published(bs_crc32c_tables, "tables");
	against_bits(bs_crc32c_tables, "tables");
	if (bs_crc32c_instruction() != NULL) {
		published(bs_crc32c_instruction(), "instruction");
		against_bits(bs_crc32c_instruction(), "instruction");
	} else {
		SKIP("this CPU has no CRC-32C instruction");
	}
	published(bs_crc32c, "chosen");
	joined();
	return check_done();
}
