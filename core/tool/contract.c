/* core/tool/contract.c - see contract.h */
#include "core/tool/contract.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/latency/hist.h"

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

void bs_spread_make(struct bs_spread *s, int64_t *ns, size_t n)
{
	memset(s, 0, sizeof(*s));
	if (n == 0)
		return;
	qsort(ns, n, sizeof(*ns), by_value);
	s->n = n;
	s->p50_ns = ns[bs_quantile_at(n, 500)];
	s->p99_ns = ns[bs_quantile_at(n, 990)];
	s->p999_ns = ns[bs_quantile_at(n, 999)];
	s->max_ns = ns[n - 1];
}

/* P(at most k | Poisson of mean m). Each term comes from its logarithm, as m may be large. */
static double at_most(uint64_t k, double m)
{
	double sum = 0.0;

	for (uint64_t i = 0; i <= k; i++)
		sum += exp((double)i * log(m) - m - lgamma((double)i + 1.0));
	return sum;
}

double bs_contract_bound(uint64_t misses, uint64_t n)
{
	double lo = (double)misses;
	double hi = (double)misses + 10.0 * sqrt((double)misses) + 10.0;

	if (n == 0 || misses >= n)
		return 1.0;
	for (int i = 0; i < 60; i++) {
		double mid = 0.5 * (lo + hi);

		if (mid > 0.0 && at_most(misses, mid) < 0.05)
			hi = mid;
		else
			lo = mid;
	}
	return fmin(1.0, hi / (double)n);
}
