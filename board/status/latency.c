/* board/status/latency.c - boreside status --latency, and the list of stalls; see status.h */
#include <inttypes.h>

#include "board/status/members.h"
#include "board/status/quantiles.h"
#include "board/status/status.h"
#include "core/thread/clock.h"

static void put_stage(struct bs_doc *d, const struct bs_hist *h, enum bs_stage stage)
{
	uint64_t n = atomic_load(&h->count);
	double mean_ns = n != 0 ? (double)atomic_load(&h->sum_ns) / (double)n : 0.0;

	bs_doc_open(d, NULL, '{');
	bs_doc_text(d, "stage", bs_stage_name(stage));
	bs_doc_number(d, "n", n);
	bs_doc_real(d, "mean_us", mean_ns * 1e-3);
	bs_quantiles_put(d, h);
	bs_doc_close(d);
}

int bs_status_latency_json(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	struct bs_doc d;

	bs_doc_begin(&d, out, cap);
	bs_doc_open(&d, "protocols", '[');
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		bs_doc_open(&d, NULL, '{');
		bs_doc_text(&d, "protocol", s->site.protocol[i].name);
		bs_doc_real(&d, "budget_us", s->site.protocol[i].image_ms * 1e3);
		bs_doc_number(&d, "misses", atomic_load(&s->misses[i].raw));
		bs_doc_number(&d, "misses_explained", atomic_load(&s->misses[i].explained));
		bs_doc_open(&d, "stages", '[');
		for (int st = 0; st < BS_STAGES; st++)
			put_stage(&d, bs_shm_hist(shm, i, (enum bs_stage)st), (enum bs_stage)st);
		bs_doc_close(&d);
		bs_doc_close(&d);
	}
	bs_doc_close(&d);
	bs_status_canary(&d, s);
	return bs_doc_end(&d);
}

/* The whole image's line is a protocol's last: the other stages are parts of it, or follow it. */
int bs_status_latency_text(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	struct bs_text t = { out, cap, 0, cap == 0 };

	bs_text_put(&t, "%-20s %-8s %9s %11s %11s %11s %11s %8s %9s   us\n", "protocol", "stage",
		    "N", "p50", "p99", "p99.9", "max", "misses", "explained");
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		const struct bs_misses *m = &s->misses[i];

		for (int st = 0; st < BS_STAGES; st++) {
			const struct bs_hist *h = bs_shm_hist(shm, i, (enum bs_stage)st);

			if (st == BS_STAGE_IMAGE || atomic_load(&h->count) == 0)
				continue;
			bs_quantiles_table(&t, shm, i, (enum bs_stage)st, 11);
			bs_text_put(&t, "\n");
		}
		bs_quantiles_table(&t, shm, i, BS_STAGE_IMAGE, 11);
		if (s->site.protocol[i].image_ms > 0.0)
			bs_text_put(&t, " %8" PRIu64 " %9" PRIu64 "   of a budget of %g ms\n",
				    atomic_load(&m->raw), atomic_load(&m->explained),
				    s->site.protocol[i].image_ms);
		else
			bs_text_put(&t, " %8s %9s   no budget\n", "-", "-");
	}
	bs_status_canary_table(&t, s);
	return t.full ? BS_ERR_NOMEM : (int)t.len;
}

/* At most so many in all, the newest of each canary: the answer has room for them. */
#define STALLS_SHOWN 2048u

static void put_stalls(struct bs_doc *d, const struct bs_canary *c, uint64_t shown)
{
	uint64_t n = atomic_load(&c->stalls);

	for (uint64_t i = n > shown ? n - shown : 0; i < n; i++) {
		int64_t begin = atomic_load(&c->stall[i % BS_CANARY_STALLS].begin_ns);
		int64_t end = atomic_load(&c->stall[i % BS_CANARY_STALLS].end_ns);

		bs_doc_value(d, NULL, "[%d,%" PRId64 ",%" PRId64 "]", atomic_load(&c->cpu), begin,
			     end);
	}
}

int bs_status_stalls(char *out, size_t cap, const struct bs_shm *shm)
{
	struct bs_doc d;
	uint32_t n = atomic_load(&shm->s->canaries);
	uint64_t shown = 0;

	n = n < BS_CANARIES ? n : BS_CANARIES;
	if (n > 0)
		shown = STALLS_SHOWN / n < 256 ? STALLS_SHOWN / n : 256;
	bs_doc_begin(&d, out, cap);
	bs_doc_number(&d, "now_ns", (uint64_t)bs_now_ns());
	bs_doc_open(&d, "stalls", '[');
	for (uint32_t i = 0; i < n; i++)
		put_stalls(&d, &shm->s->canary[i], shown);
	bs_doc_close(&d);
	return bs_doc_end(&d);
}
