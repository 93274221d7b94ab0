/* test/unit/core/test_hist.c - quantiles within 1/64 of the sorted values', of all sizes */
#include "core/latency/hist.h"
#include "test/support/check.h"

#include <string.h>

#define N 20000

static int ascending(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	static struct bs_hist h;
	static uint64_t v[N];
	uint64_t seed = 17;
	double worst = 0;
	int below = 0;

	CHECK(bs_hist_quantile(&h, 0.5) == 0, "empty");
	for (int i = 0; i < N; i++) {
		v[i] = (uint64_t)exp2(39.9 * check_uniform(&seed));
		bs_hist_add(&h, (int64_t)v[i]);
	}
	qsort(v, N, sizeof(v[0]), ascending);
	for (int i = 1; i <= N; i++) {
		double got = (double)bs_hist_quantile(&h, (double)i / N);
		double want = (double)v[i - 1];

		below += got < want;
		worst = fmax(worst, (got - want) / want);
	}
	CHECK(below == 0 && worst <= 1.0 / 64,
	      "every quantile 0 to 1/64 above the sorted one: %.4f", worst);
	CHECK(bs_hist_quantile(&h, 1.0) == v[N - 1], "the maximum is exact");
	bs_hist_add(&h, INT64_MAX);
	bs_hist_add(&h, -5);
	CHECK(bs_hist_quantile(&h, 1.0) == INT64_MAX && h.bucket[0] >= 1 && h.count == N + 2,
	      "values beyond the range are counted; negative is 0");
	return check_done();
}
