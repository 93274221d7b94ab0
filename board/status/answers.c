/* board/status/answers.c - ready, reload, stalls: what programs ask for; see status.h */
#include <inttypes.h>
#include <stdio.h>

#include "board/status/doc.h"
#include "board/status/status.h"
#include "core/thread/clock.h"

int bs_status_ready(char *out, size_t cap, const struct bs_shm *shm)
{
	/* a service that is stopping refuses each scan */
	bool ready = atomic_load(&shm->s->stop) == 0;

	for (int i = 0; i < BS_WORKERS; i++)
		ready &= atomic_load(&shm->s->worker[i].phase) == BS_PHASE_READY;
	return snprintf(out, cap, "%s\n", ready ? "yes" : "no");
}

int bs_status_reload(char *out, size_t cap, const struct bs_shm *shm)
{
	const struct bs_reload *r = &shm->s->reload;

	return snprintf(out, cap, "%llu %llu %d\n%s\n%s\n%.*s\n",
			(unsigned long long)atomic_load(&r->begun),
			(unsigned long long)atomic_load(&r->ended), r->code, shm->s->site.file,
			bs_reload_name(atomic_load(&r->step)), (int)sizeof(r->text) - 1, r->text);
}

/* most stalls in an answer, the newest of each canary */
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
