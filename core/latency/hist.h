/*
 * core/latency/hist.h - latency histogram: fixed relative error, fixed memory, exact maximum
 *
 * Values are nanoseconds, 0 .. 2^40 - 1 (18 minutes; larger values are counted in the last bucket,
 * and the maximum stays exact). Buckets grow with the value, 64 per octave, so a quantile is at
 * most 1.6 % above the true one. One writer adds (relaxed atomics, so that it may lie in shared
 * memory); any process may read meanwhile: a reader may miss the newest values, but never sees torn
 * ones. Allocates nothing. Zeroed memory is an empty histogram. Test: test/unit/core/test_hist.c
 * Source: the log-linear layout of HdrHistogram (G. Tene).
 */
#ifndef BS_CORE_LATENCY_HIST_H
#define BS_CORE_LATENCY_HIST_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define BS_HIST_SUB     64u /* buckets per octave */
#define BS_HIST_BUCKETS (BS_HIST_SUB * (40u - 6u + 1u))

struct bs_hist {
	_Atomic uint64_t count;
	_Atomic uint64_t sum_ns;
	_Atomic uint64_t max_ns;
	_Atomic uint32_t bucket[BS_HIST_BUCKETS];
};

/* The first 64 values have a bucket each; then 64 buckets share each octave. */
static inline uint32_t bs_hist_bucket(uint64_t ns)
{
	uint32_t octave;

	if (ns < BS_HIST_SUB)
		return (uint32_t)ns;
	octave = 63u - (uint32_t)__builtin_clzll(ns) - 6u; /* octave 0 holds values 64 to 127 */
	if (octave > 33u)
		return BS_HIST_BUCKETS - 1;
	return BS_HIST_SUB * (octave + 1) + (uint32_t)(ns >> octave) - BS_HIST_SUB;
}

/* Adds a value; a negative one counts as 0. */
static inline void bs_hist_add(struct bs_hist *h, int64_t ns)
{
	uint64_t v = ns < 0 ? 0 : (uint64_t)ns;

	atomic_fetch_add_explicit(&h->bucket[bs_hist_bucket(v)], 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->sum_ns, v, memory_order_relaxed);
	if (v > atomic_load_explicit(&h->max_ns, memory_order_relaxed))
		atomic_store_explicit(&h->max_ns, v, memory_order_relaxed);
	atomic_fetch_add_explicit(&h->count, 1, memory_order_release);
}
/*
 * The smallest bucket bound that at least the fraction q of the values do not exceed. q = 1: the
 * exact maximum. An empty histogram: 0.
 */
uint64_t bs_hist_quantile(const struct bs_hist *h, double q);
/*
 * count[i]: number of values that are at most bound_ns[i], which rises with i. A value less than
 * 1.6 % below its bound may be counted with the next one; none is counted too early. Returns the
 * number of all values: at least the last count.
 */
uint64_t bs_hist_below(const struct bs_hist *h, const uint64_t *bound_ns, uint64_t *count,
		       unsigned n);

/*
 * The index, in n sorted values (n > 0), of the smallest value that per_mille of them do not
 * exceed.
 */
static inline size_t bs_quantile_at(size_t n, size_t per_mille)
{
	size_t want = (n * per_mille + 999) / 1000;

	return want > 0 ? want - 1 : 0;
}

#endif
