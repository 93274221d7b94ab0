/*
 * test/bench/stream/times.h - times that were measured, their quantiles, and how sure those are
 *
 * Intervals: of a quantile q of n values the order statistics X(l), X(u), free of any distribution:
 * B ~ Binomial(n, q), l the largest with P(B < l) <= a/2, u the smallest with P(B >= u) <= a/2
 * (David and Nagaraja, Order Statistics, 3rd ed. 2003, 7.1), for values that are independent. Of a
 * ratio [l/u', u/l'], both of 97.5 %, hold together at 95 % (Bonferroni).
 */
#ifndef BS_TEST_BENCH_TIMES_H
#define BS_TEST_BENCH_TIMES_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

struct times {
	double *us; /* sorted by report */
	size_t n;
};

static inline int ascending(const void *a, const void *b)
{
	const double x = *(const double *)a;
	const double y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double at(const struct times *t, double q)
{
	const size_t i = (size_t)ceil(q * (double)t->n);

	return t->us[i > 0 ? i - 1 : 0];
}

/* [low, high] of the quantile at 1 - a; INFINITY: the values do not bound it. */
static inline void interval(const struct times *t, double q, double a, double *low, double *high)
{
	const double n = (double)t->n;
	double below = 0.0; /* P(B < i) */
	size_t l = 0;
	size_t u = t->n + 1;

	for (size_t i = 0; i <= t->n; i++) {
		const double k = (double)i;

		if (below <= a / 2)
			l = i;
		if (1.0 - below <= a / 2) {
			u = i;
			break;
		}
		below += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(q) +
			     (n - k) * log1p(-q));
	}
	*low = l > 0 ? t->us[l - 1] : 0.0;
	*high = u <= t->n ? t->us[u - 1] : (double)INFINITY;
}

static inline void keep(struct times *t, double us)
{
	t->us[t->n++] = us;
}

static inline void room(struct times *t, size_t n)
{
	t->us = malloc(n * sizeof(*t->us));
	t->n = 0;
	if (t->us == NULL)
		exit(1);
}

#endif
