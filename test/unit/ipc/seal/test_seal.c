/*
 * test/unit/ipc/seal/test_seal.c - messages that are altered, cut, replayed, left out or out of
 * order do not open; those of any length that are not do
 */
/* Holds: W24 */
#include "ipc/seal/seal.h"

#include <string.h>

#include "test/support/check.h"

#define MAX 4200u

static const uint8_t key[32] = "a key of thirty-two bytes, so be";
static unsigned char text[MAX], sealed[MAX + BS_SEAL_TAG], got[MAX + BS_SEAL_TAG];

static void pair(struct bs_seal *out, struct bs_seal *in, enum bs_suite suite)
{
	bs_seal_start(out, suite, key);
	bs_seal_start(in, suite, key);
}

static void lengths(enum bs_suite suite)
{
	struct bs_seal out, in;
	unsigned good = 0;

	pair(&out, &in, suite);
	for (size_t n = 0; n < 300; n++) {
		memcpy(sealed, text, n);
		good += bs_seal_close(&out, sealed, n) &&
			(n == 0 || memcmp(sealed, text, n) != 0) &&
			bs_seal_open(&in, sealed, n + BS_SEAL_TAG) && memcmp(sealed, text, n) == 0;
	}
	memcpy(sealed, text, MAX);
	good += bs_seal_close(&out, sealed, MAX) && bs_seal_open(&in, sealed, MAX + BS_SEAL_TAG) &&
		memcmp(sealed, text, MAX) == 0;
	CHECK(good >= 300, "suite %d: messages of 0 to 299 and of %u bytes (%u)", suite, MAX, good);
}

/* A small message: every bit, every cut, every place in the order. */
static void refused(enum bs_suite suite)
{
	enum { N = 40, LEN = N + (int)BS_SEAL_TAG };
	struct bs_seal out, in, x;
	unsigned opened = 0;

	pair(&out, &in, suite);
	memcpy(sealed, text, N);
	(void)bs_seal_close(&out, sealed, N);
	for (int bit = 0; bit < LEN * 8; bit++) {
		memcpy(got, sealed, LEN);
		got[bit / 8] ^= (unsigned char)(1 << bit % 8);
		x = in;
		opened += bs_seal_open(&x, got, LEN);
	}
	CHECK(opened == 0, "suite %d: a bit of it is another: %u of %d opened", suite, opened,
	      LEN * 8);
	for (size_t len = 0; len < LEN; len++) {
		memcpy(got, sealed, LEN);
		x = in;
		opened += bs_seal_open(&x, got, len);
	}
	got[LEN] = 0;
	memcpy(got, sealed, LEN);
	x = in;
	opened += bs_seal_open(&x, got, LEN + 1);
	CHECK(opened == 0, "suite %d: it is cut, or longer", suite);
	memcpy(got, sealed, LEN);
	x = in;
	x.n = 1;
	CHECK(!bs_seal_open(&x, got, LEN), "suite %d: one before it was left out", suite);
	memcpy(got, sealed, LEN);
	CHECK(bs_seal_open(&in, got, LEN) && memcmp(got, text, N) == 0, "suite %d: it is whole",
	      suite);
	memcpy(got, sealed, LEN);
	CHECK(!bs_seal_open(&in, got, LEN), "suite %d: it is replayed", suite);
	memcpy(got, text, N);
	(void)bs_seal_close(&out, got, N);
	CHECK(memcmp(got, sealed, LEN) != 0, "suite %d: the same words are other bytes", suite);
	CHECK(bs_seal_open(&in, got, LEN), "suite %d: what follows in turn opens", suite);
	bs_seal_start(&x, suite, (const uint8_t *)"another key of thirty-two bytes!");
	memcpy(got, sealed, LEN);
	CHECK(!bs_seal_open(&x, got, LEN), "suite %d: another key", suite);
	out.n = UINT64_MAX;
	CHECK(!bs_seal_close(&out, got, N), "suite %d: no number is used twice", suite);
}

int main(void)
{
	for (size_t i = 0; i < MAX; i++)
		text[i] = (unsigned char)(i * 131 + (i >> 8) + 7);
	(void)bs_suite_best();
	for (int suite = BS_SUITE_AESGCM; suite <= BS_SUITE_CHACHAPOLY; suite++) {
		if (!bs_suite_has((enum bs_suite)suite)) {
			SKIP("suite %d: this processor does not have it", suite);
			continue;
		}
		lengths((enum bs_suite)suite);
		refused((enum bs_suite)suite);
	}
	return check_done();
}
