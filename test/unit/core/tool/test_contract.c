/* test/unit/core/tool/test_contract.c - quantiles, the bound on the rate of misses, and SHA-256 */
#include "core/tool/contract.h"
#include "ipc/sha256.h"
#include "test/support/check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void spreads(void)
{
	static int64_t v[5000];
	struct bs_spread s;

	bs_spread_make(&s, v, 0);
	CHECK(s.n == 0 && s.max_ns == 0, "no values");
	v[0] = 7;
	bs_spread_make(&s, v, 1);
	CHECK(s.n == 1 && s.p50_ns == 7 && s.p999_ns == 7 && s.max_ns == 7, "one value");
	for (int i = 0; i < 5000; i++)
		v[i] = 5000 - i;
	bs_spread_make(&s, v, 5000);
	CHECK(s.p50_ns == 2500 && s.p99_ns == 4950 && s.p999_ns == 4995 && s.max_ns == 5000,
	      "of 1 .. 5,000: %lld %lld %lld %lld", (long long)s.p50_ns, (long long)s.p99_ns,
	      (long long)s.p999_ns, (long long)s.max_ns);
	for (int i = 0; i < 10; i++)
		v[i] = i;
	bs_spread_make(&s, v, 10);
	CHECK(s.p50_ns == 4 && s.p99_ns == 9 && s.p999_ns == 9, "of ten, the tail is the largest");
}

/* Upper 95 % limits of a Poisson count: -ln 0.05, then chi-square tables (Garwood, 1936). */
static void bounds(void)
{
	static const struct {
		uint64_t misses;
		double mean;
	} table[] = { { 0, 2.995732 },
		      { 1, 4.743865 },
		      { 2, 6.295794 },
		      { 5, 10.513034 },
		      { 10, 16.962219 } };

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		double m = bs_contract_bound(table[i].misses, 100000) * 1e5;

		CHECK(fabs(m - table[i].mean) < 1e-4, "%llu misses: at most %.6f of %.6f",
		      (unsigned long long)table[i].misses, m, table[i].mean);
	}
	CHECK(fabs(bs_contract_bound(0, 15000) - 3.0 / 15000) < 5e-7, "the rule of three");
	CHECK(bs_contract_bound(0, 0) == 1.0 && bs_contract_bound(9, 9) == 1.0 &&
		      bs_contract_bound(0, 1) == 1.0,
	      "nothing proves nothing");
	double many = bs_contract_bound(100000, 1000000);

	CHECK(many > 0.1 && many < 0.102, "100,000 of a million: %g", many);
}

static void hashes(void)
{
	static const struct {
		const char *text, *hex;
	} known[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char hex[BS_SHA256_HEX];
	char *million = malloc(1000000);

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		bs_sha256(hex, known[i].text, strlen(known[i].text));
		CHECK(strcmp(hex, known[i].hex) == 0, "SHA-256 of '%s' is %s", known[i].text, hex);
	}
	if (million == NULL)
		abort();
	memset(million, 'a', 1000000);
	bs_sha256(hex, million, 1000000);
	CHECK(strcmp(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0") == 0,
	      "of a million a: %s", hex);
	free(million);
}

int main(void)
{
	spreads();
	bounds();
	hashes();
	return check_done();
}
