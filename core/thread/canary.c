/* core/thread/canary.c - see canary.h */
#include "core/thread/canary.h"

/* stalls that are looked at within one wait; with more of them less is explained, never more */
#define SPANS_MAX 256u

struct span {
	int64_t begin, end;
};

int64_t bs_canary_wake(struct bs_canary *c, int64_t due_ns, int64_t now_ns)
{
	int64_t late = now_ns > due_ns ? now_ns - due_ns : 0;
	int64_t next = due_ns + (late / BS_CANARY_PERIOD_NS + 1) * BS_CANARY_PERIOD_NS;

	bs_hist_add(&c->late, late);
	if (late >= BS_CANARY_STALL_NS) {
		uint64_t n = atomic_load_explicit(&c->stalls, memory_order_relaxed);

		atomic_store(&c->stall[n % BS_CANARY_STALLS].begin_ns, due_ns);
		atomic_store(&c->stall[n % BS_CANARY_STALLS].end_ns, now_ns);
		atomic_store(&c->stalls, n + 1);
	}
	atomic_fetch_add_explicit(&c->wakes, 1, memory_order_relaxed);
	atomic_store(&c->due_ns, next);
	return next;
}

static uint32_t keep_span(struct span *span, uint32_t n, int64_t begin, int64_t end, int64_t from,
			  int64_t to)
{
	begin = begin > from ? begin : from;
	end = end < to ? end : to;
	if (begin >= end || n == SPANS_MAX)
		return n;
	span[n] = (struct span){ begin, end };
	return n + 1;
}

/* Collects the stalls of one canary that touch from .. to, the newest first. */
static uint32_t stalls_of(const struct bs_canary *c, struct span *span, uint32_t n, int64_t from,
			  int64_t to, int64_t now)
{
	int64_t due = atomic_load(&c->due_ns);
	uint64_t stalls = atomic_load(&c->stalls);

	if (due != 0 && now - due >= BS_CANARY_STALL_NS)
		n = keep_span(span, n, due, now, from, to);
	for (uint64_t i = stalls; i-- > 0;) {
		int64_t begin = atomic_load(&c->stall[i % BS_CANARY_STALLS].begin_ns);
		int64_t end = atomic_load(&c->stall[i % BS_CANARY_STALLS].end_ns);

		/* do not read a place that the canary may be writing to again */
		if (atomic_load(&c->stalls) - i >= BS_CANARY_STALLS || end <= from)
			break;
		n = keep_span(span, n, begin, end, from, to);
	}
	return n;
}

static void sort(struct span *span, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct span s = span[i];
		uint32_t at = i;

		for (; at > 0 && span[at - 1].begin > s.begin; at--)
			span[at] = span[at - 1];
		span[at] = s;
	}
}

int64_t bs_canary_stalled(const struct bs_canary *c, uint32_t n, int64_t from_ns, int64_t to_ns,
			  int64_t now_ns)
{
	struct span span[SPANS_MAX];
	uint32_t spans = 0;
	int64_t sum = 0;
	int64_t reached = from_ns;

	for (uint32_t i = 0; i < n; i++)
		spans = stalls_of(&c[i], span, spans, from_ns, to_ns, now_ns);
	sort(span, spans);
	for (uint32_t i = 0; i < spans; i++) {
		int64_t begin = span[i].begin > reached ? span[i].begin : reached;

		if (span[i].end > begin) {
			sum += span[i].end - begin;
			reached = span[i].end;
		}
	}
	return sum;
}

bool bs_canary_explains(const struct bs_canary *c, uint32_t n, int64_t from_ns, int64_t to_ns,
			int64_t budget_ns, int64_t now_ns)
{
	int64_t took = to_ns - from_ns;

	return took > budget_ns &&
	       took - bs_canary_stalled(c, n, from_ns, to_ns, now_ns) <= budget_ns;
}
