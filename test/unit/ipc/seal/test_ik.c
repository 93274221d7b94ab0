/*
 * test/unit/ipc/seal/test_ik.c - the handshake against published vectors; what is altered, cut or
 * of other keys is refused; no two handshakes give the same keys
 *
 * Vectors: cacophony's vectors/cacophony.txt (github.com/haskell-cryptography/cacophony), the two
 * of Noise_IK_25519_AESGCM_SHA256 and Noise_IK_25519_ChaChaPoly_SHA256.
 */
/* Holds: W27 */
#include "ipc/seal/ik.h"

#include <string.h>

#include "test/support/check.h"

#define PROLOGUE "John Galt"
#define MAX      192u

struct vector {
	enum bs_suite suite;
	const char *hash;
	const char *message[6];
};

static const char init_static[] =
	"e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1";
static const char init_ephemeral[] =
	"893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a";
static const char resp_public[] =
	"31e0303fd6418d2f8c0e78b91f22e8caed0fbe48656dcf4767e4834f701b8f62";
static const char resp_static[] =
	"4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893";
static const char resp_ephemeral[] =
	"bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b";
static const char *const payload[6] = {
	"4c756477696720766f6e204d69736573",
	"4d757272617920526f746862617264",
	"462e20412e20486179656b",
	"4361726c204d656e676572",
	"4a65616e2d426170746973746520536179",
	"457567656e2042f6686d20766f6e2042617765726b",
};

static const struct vector vectors[] = {
	{ BS_SUITE_AESGCM,
	  "669c8640d9e42a3cda2f232f78597ceefb01daa6e3df81181ccce6fc6b5026bf",
	  { "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
	    "4e417bc55c7a8166c993356c1be41ef67818a292426f301556c7f26b21d25ddb"
	    "097153891a9a956cff47b83e63ad8d701c1342c209cff1ca5ecd43402762ac24"
	    "9e3bd3a4c0a145fe07cb5dae28ea13a3",
	    "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
	    "af2ccf9972e22afc67aeafcd25162f7f98c363b7762e3e4cb7d272e39f27a5",
	    "66acfc92e3197de166809e6d4d5d003dcc819a84bc3522ca53c9d9",
	    "71f89aa6533a6de70b0826864dd75f60806ee40170c16290189eb3",
	    "4795a3423550c8bf00386bd496a3e2c76c10669d2a75ab8f79b5094c5412a25705",
	    "aa0bb39097555c918e40be82abc2b909eb79d9eb87adb07e268fc37323a6cf904fd01fb391" } },
	{ BS_SUITE_CHACHAPOLY,
	  "0b0f68fb0c27e03ce9b97565995ed4838cc0581b762ef72b062f6a546419fad7",
	  { "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944"
	    "718da798efbcd91528520204f904b9bd6c7413dccdc214d951e15253e39987f1"
	    "8146e8cd0873654207148333479d4d16c289f0294b29960a72f48e0b7bba2e89"
	    "083169825e59642148d492020664ccf7",
	    "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f144808843"
	    "5361e70b2ed446e6c9ec387d1d6b3b840f194e373979d241b203c4acafccf5",
	    "050e9f3c8fac16b68dbce8f8c4bfbf6617c897f9ada4aa29aa19c8",
	    "344233a6cabb7141d80f3da2fedc311d9646bbb0f505afe403a667",
	    "62cdeeb172ad7ade7aa7d9e069da5790f12331bfa00177787a1d0810c67dc3b2b4",
	    "029bead1b40992327044d409d9a1f3ad8f36c3c452775d557e18bbeb2e8dfcead32d514024" } },
};

static size_t bytes_of(uint8_t *out, const char *hex)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		unsigned v = 0;

		if (sscanf(hex + 2 * i, "%2x", &v) != 1)
			abort();
		out[i] = (uint8_t)v;
	}
	return n;
}

static struct bs_ik_pair pair_of(const char *hex)
{
	struct bs_ik_pair p;

	(void)bytes_of(p.secret, hex);
	bs_ik_public(p.pub, p.secret);
	return p;
}

/* Both sides as the vectors have them. */
static void sides(struct bs_ik *a, struct bs_ik *b, enum bs_suite suite)
{
	const struct bs_ik_pair i = pair_of(init_static);
	const struct bs_ik_pair r = pair_of(resp_static);
	uint8_t e[BS_IK_KEY];

	bs_ik_start(a, suite, PROLOGUE, &i, r.pub);
	bs_ik_start(b, suite, PROLOGUE, &r, NULL);
	(void)bytes_of(e, init_ephemeral);
	bs_ik_set_ephemeral(a, e);
	(void)bytes_of(e, resp_ephemeral);
	bs_ik_set_ephemeral(b, e);
}

static void published(const struct vector *v)
{
	const char *name = v->suite == BS_SUITE_AESGCM ? "AESGCM" : "ChaChaPoly";
	struct bs_seal seal[2][2]; /* [side][out, in] */
	uint8_t want[MAX], text[MAX], got[MAX], out[MAX];
	struct bs_ik a, b;
	size_t n = bytes_of(text, payload[0]);
	size_t len = bytes_of(want, v->message[0]);

	if (!bs_suite_has(v->suite)) {
		SKIP("%s: this processor does not have it", name);
		return;
	}
	(void)bytes_of(got, resp_public);
	sides(&a, &b, v->suite);
	CHECK(memcmp(got, b.s.pub, 32) == 0, "%s: the public key of a secret one", name);
	CHECK(bs_ik_first(&a, out, text, n) == 0 && len == BS_IK_FIRST + n &&
		      memcmp(out, want, len) == 0,
	      "%s: the first message", name);
	CHECK(bs_ik_read_first(&b, out, len) == 0 && memcmp(b.rs, a.s.pub, 32) == 0 &&
		      bs_ik_read_rest(&b, out, len, got) == 0 && memcmp(got, text, n) == 0,
	      "%s: is read, and whose it is", name);
	n = bytes_of(text, payload[1]);
	len = bytes_of(want, v->message[1]);
	CHECK(bs_ik_second(&b, out, text, n) == 0 && len == BS_IK_SECOND + n &&
		      memcmp(out, want, len) == 0,
	      "%s: the second message", name);
	CHECK(bs_ik_read_second(&a, out, len, got) == 0 && memcmp(got, text, n) == 0, "%s: is read",
	      name);
	(void)bytes_of(want, v->hash);
	CHECK(memcmp(a.h, want, 32) == 0 && memcmp(b.h, want, 32) == 0,
	      "%s: both have the vector's hash", name);
	bs_ik_split(&a, &seal[0][0], &seal[0][1]);
	bs_ik_split(&b, &seal[1][0], &seal[1][1]);
	for (int i = 2; i < 6; i++) {
		n = bytes_of(text, payload[i]);
		len = bytes_of(want, v->message[i]);
		memcpy(out, text, n);
		CHECK(bs_seal_close(&seal[i % 2][0], out, n) && len == n + BS_SEAL_TAG &&
			      memcmp(out, want, len) == 0,
		      "%s: message %d", name, i);
		CHECK(bs_seal_open(&seal[1 - i % 2][1], out, len) && memcmp(out, text, n) == 0,
		      "%s: opens", name);
	}
}

/* Every bit of both messages matters, and every byte must be there. */
static void altered(enum bs_suite suite)
{
	uint8_t first[MAX], second[MAX], got[MAX], bad[MAX];
	struct bs_ik a, b, x;
	const size_t n = BS_IK_FIRST + 3;
	const size_t m = BS_IK_SECOND + 3;
	unsigned passed = 0;

	sides(&a, &b, suite);
	if (bs_ik_first(&a, first, "abc", 3) != 0)
		abort();
	for (size_t bit = 0; bit < n * 8; bit++) {
		memcpy(bad, first, n);
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		x = b;
		passed +=
			bs_ik_read_first(&x, bad, n) == 0 && bs_ik_read_rest(&x, bad, n, got) == 0;
	}
	for (size_t len = 0; len < n; len++) {
		x = b;
		passed += bs_ik_read_first(&x, first, len) == 0 &&
			  bs_ik_read_rest(&x, first, len, got) == 0;
	}
	CHECK(passed == 0, "suite %d: a first message with a bit or an end missing", suite);
	if (bs_ik_read_first(&b, first, n) != 0 || bs_ik_read_rest(&b, first, n, got) != 0 ||
	    bs_ik_second(&b, second, "def", 3) != 0)
		abort();
	for (size_t bit = 0; bit < m * 8; bit++) {
		memcpy(bad, second, m);
		bad[bit / 8] ^= (uint8_t)(1 << bit % 8);
		x = a;
		passed += bs_ik_read_second(&x, bad, m, got) == 0;
	}
	for (size_t len = 0; len < m; len++) {
		x = a;
		passed += bs_ik_read_second(&x, second, len, got) == 0;
	}
	CHECK(passed == 0, "suite %d: a second one", suite);
	memset(bad, 0, sizeof(bad));
	sides(&a, &b, suite);
	CHECK(bs_ik_read_first(&b, bad, n) != 0, "suite %d: a key of small order", suite);
	sides(&a, &b, suite);
	bs_ik_start(&b, suite, "John Gald", &b.s, NULL);
	if (bs_ik_first(&a, first, "abc", 3) != 0)
		abort();
	CHECK(bs_ik_read_first(&b, first, n) != 0, "suite %d: another prologue", suite);
	sides(&a, &b, suite);
	a.rs[0] ^= 1;
	if (bs_ik_first(&a, first, "abc", 3) == 0)
		CHECK(bs_ik_read_first(&b, first, n) != 0, "suite %d: meant for another", suite);
}

/* The same static keys, again and again: what stands for restarts of either side, or both. */
static void fresh(enum bs_suite suite)
{
	enum { TIMES = 200 };
	static uint8_t key[4 * TIMES][32];
	const struct bs_ik_pair i = pair_of(init_static);
	const struct bs_ik_pair r = pair_of(resp_static);
	uint8_t out[MAX];
	unsigned twins = 0;
	size_t n = 0;

	for (int t = 0; t < TIMES; t++) {
		struct bs_seal s[4];
		struct bs_ik a, b;

		bs_ik_start(&a, suite, PROLOGUE, &i, r.pub);
		bs_ik_start(&b, suite, PROLOGUE, &r, NULL);
		if (bs_ik_first(&a, out, NULL, 0) != 0 ||
		    bs_ik_read_first(&b, out, BS_IK_FIRST) != 0 ||
		    bs_ik_read_rest(&b, out, BS_IK_FIRST, NULL) != 0 ||
		    bs_ik_second(&b, out, NULL, 0) != 0 ||
		    bs_ik_read_second(&a, out, BS_IK_SECOND, NULL) != 0)
			abort();
		bs_ik_split(&a, &s[0], &s[1]);
		bs_ik_split(&b, &s[2], &s[3]);
		/* what the first 32 bytes of a direction are sealed to tells its key */
		for (int k = 0; k < 2; k++) {
			uint8_t text[32 + BS_SEAL_TAG] = { 0 };

			(void)bs_seal_close(&s[k == 0 ? 0 : 2], text, 32);
			memcpy(key[n++], text, 32);
		}
	}
	for (size_t x = 0; x < n; x++)
		for (size_t y = 0; y < x; y++)
			twins += memcmp(key[x], key[y], 32) == 0;
	CHECK(twins == 0, "suite %d: %zu keys, no two alike", suite, n);
}

int main(void)
{
	(void)bs_suite_best();
	for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		published(&vectors[i]);
		if (!bs_suite_has(vectors[i].suite))
			continue;
		altered(vectors[i].suite);
		fresh(vectors[i].suite);
	}
	return check_done();
}
