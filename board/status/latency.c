/* board/status/latency.c - boreside status --latency, and the list of stalls; see status.h */
#include "board/status/status.h"
#include "board/status/doc.h"
#include "core/thread/clock.h"

static double us(const struct bs_hist *h, double q)
{
	return (double)bs_hist_quantile(h, q) * 1e-3;
}

static void put_stage(struct doc *d, const struct bs_hist *h, enum bs_stage stage)
{
	uint64_t n = atomic_load(&h->count);

	next(d);
	open_with(d, "{");
	member(d, "stage", bs_stage_name(stage));
	number(d, "n", n);
	real(d, "mean_us", n != 0 ? (double)atomic_load(&h->sum_ns) / (double)n * 1e-3 : 0.0);
	real(d, "p50_us", us(h, 0.5));
	real(d, "p99_us", us(h, 0.99));
	real(d, "p999_us", us(h, 0.999));
	real(d, "max_us", us(h, 1.0));
	close_with(d, "}");
}

int bs_status_latency_json(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	struct doc d = { .out = out, .cap = cap, .full = cap == 0 };

	open_with(&d, "{");
	key(&d, "protocols");
	open_with(&d, "[");
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		next(&d);
		open_with(&d, "{");
		member(&d, "protocol", s->site.protocol[i].name);
		real(&d, "budget_us", s->site.protocol[i].image_ms * 1e3);
		number(&d, "misses", atomic_load(&s->misses[i].raw));
		number(&d, "misses_explained", atomic_load(&s->misses[i].explained));
		key(&d, "stages");
		open_with(&d, "[");
		for (int st = 0; st < BS_STAGES; st++)
			put_stage(&d, bs_shm_hist(shm, i, (enum bs_stage)st), (enum bs_stage)st);
		close_with(&d, "]");
		close_with(&d, "}");
	}
	close_with(&d, "]");
	bs_status_canary(&d, s);
	close_with(&d, "}");
	put(&d, "\n");
	return d.full ? BS_ERR_NOMEM : (int)d.len;
}

static void table_stage(struct doc *d, const struct bs_hist *h, const char *protocol,
			enum bs_stage stage)
{
	put(d, "%-20s %-8s %9llu %11.1f %11.1f %11.1f %11.1f", protocol, bs_stage_name(stage),
	    (unsigned long long)atomic_load(&h->count), us(h, 0.5), us(h, 0.99), us(h, 0.999),
	    us(h, 1.0));
}

static void table_image(struct doc *d, const struct bs_shared *s, uint32_t protocol)
{
	const struct bs_misses *m = &s->misses[protocol];

	if (s->site.protocol[protocol].image_ms > 0.0)
		put(d, " %8llu %9llu   of a budget of %g ms",
		    (unsigned long long)atomic_load(&m->raw),
		    (unsigned long long)atomic_load(&m->explained),
		    s->site.protocol[protocol].image_ms);
	else
		put(d, " %8s %9s   no budget", "-", "-");
}

/* The whole image's line ends its protocol's: all others are parts of it, or come after it. */
int bs_status_latency_text(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_shared *s = shm->s;
	struct doc d = { .out = out, .cap = cap, .full = cap == 0 };

	put(&d, "%-20s %-8s %9s %11s %11s %11s %11s %8s %9s   us\n", "protocol", "stage", "N",
	    "p50", "p99", "p99.9", "max", "misses", "explained");
	for (uint32_t i = 0; i < s->site.protocols; i++) {
		const char *name = s->site.protocol[i].name;

		for (int st = 0; st < BS_STAGES; st++) {
			const struct bs_hist *h = bs_shm_hist(shm, i, (enum bs_stage)st);

			if (st == BS_STAGE_IMAGE || atomic_load(&h->count) == 0)
				continue;
			table_stage(&d, h, name, (enum bs_stage)st);
			put(&d, "\n");
		}
		table_stage(&d, bs_shm_hist(shm, i, BS_STAGE_IMAGE), name, BS_STAGE_IMAGE);
		table_image(&d, s, i);
		put(&d, "\n");
	}
	bs_status_canary_table(&d, s);
	return d.full ? BS_ERR_NOMEM : (int)d.len;
}

/* At most so many in all, each canary's newest: they fit the answer. */
#define STALLS_SHOWN 2048u

static void put_stalls(struct doc *d, const struct bs_canary *c, uint64_t shown)
{
	uint64_t n = atomic_load(&c->stalls);

	for (uint64_t i = n > shown ? n - shown : 0; i < n; i++) {
		int64_t begin = atomic_load(&c->stall[i % BS_CANARY_STALLS].begin_ns);
		int64_t end = atomic_load(&c->stall[i % BS_CANARY_STALLS].end_ns);

		next(d);
		put(d, "[%d,%lld,%lld]", atomic_load(&c->cpu), (long long)begin, (long long)end);
	}
}

int bs_status_stalls(char *out, size_t cap, const struct bs_shm *shm)
{
	struct doc d = { .out = out, .cap = cap, .full = cap == 0 };
	uint32_t n = atomic_load(&shm->s->canaries);
	uint64_t shown = 0;

	n = n < BS_CANARIES ? n : BS_CANARIES;
	if (n > 0)
		shown = STALLS_SHOWN / n < 256 ? STALLS_SHOWN / n : 256;
	open_with(&d, "{");
	number(&d, "now_ns", (uint64_t)bs_now_ns());
	key(&d, "stalls");
	open_with(&d, "[");
	for (uint32_t i = 0; i < n; i++)
		put_stalls(&d, &shm->s->canary[i], shown);
	close_with(&d, "]");
	close_with(&d, "}");
	put(&d, "\n");
	return d.full ? BS_ERR_NOMEM : (int)d.len;
}
