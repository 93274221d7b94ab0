/* core/latency/hist.c - see hist.h */
#include "core/latency/hist.h"

#include <math.h>

#define LAST (BS_HIST_BUCKETS - 1)

/* Returns the largest value that falls into a bucket. */
static uint64_t bound_of(uint32_t bucket)
{
	uint32_t octave;

	if (bucket < BS_HIST_SUB)
		return bucket;
	octave = bucket / BS_HIST_SUB - 1;
	return ((uint64_t)(bucket % BS_HIST_SUB + BS_HIST_SUB + 1) << octave) - 1;
}

uint64_t bs_hist_quantile(const struct bs_hist *h, double q)
{
	/* count is read first: buckets and maximum then have all that it counts */
	uint64_t count = atomic_load_explicit(&h->count, memory_order_acquire);
	uint64_t max = atomic_load_explicit(&h->max_ns, memory_order_relaxed);
	/* q is taken a little less: in floating point, i/n times n may be just above i */
	uint64_t want = (uint64_t)ceil(q * (double)count * (1.0 - 1e-12));
	uint64_t seen = 0;

	if (count == 0 || q >= 1.0)
		return count == 0 ? 0 : max;
	if (want == 0)
		want = 1;
	for (uint32_t b = 0; b < BS_HIST_BUCKETS; b++) {
		seen += atomic_load_explicit(&h->bucket[b], memory_order_relaxed);
		if (seen >= want) /* the last bucket has no bound other than the maximum */
			return b == LAST || bound_of(b) > max ? max : bound_of(b);
	}
	return max;
}

uint64_t bs_hist_below(const struct bs_hist *h, const uint64_t *bound_ns, uint64_t *count,
		       unsigned n)
{
	uint64_t seen = 0;
	unsigned at = 0;

	for (uint32_t b = 0; b < BS_HIST_BUCKETS; b++) {
		/* the last bucket holds values of any size */
		while (at < n && (b == LAST || bound_of(b) > bound_ns[at]))
			count[at++] = seen;
		seen += atomic_load_explicit(&h->bucket[b], memory_order_relaxed);
	}
	while (at < n)
		count[at++] = seen;
	return seen;
}
