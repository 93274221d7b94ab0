/* board/tool/certify/floor.c - see floor.h */
#include "board/tool/certify/floor.h"

#include <string.h>

#include "core/thread/clock.h"
#include "core/thread/thread.h"

void bs_floor_note(struct bs_floor_seen *s, int64_t gap_ns)
{
	const double us = (double)gap_ns * 1e-3;

	s->max_us = us > s->max_us ? us : s->max_us;
	s->over_100 += gap_ns >= 100000;
	s->over_500 += gap_ns >= 500000;
}

static void *spin(void *arg)
{
	struct bs_floor *f = arg;
	const int64_t start = bs_now_ns();
	int64_t before = start;

	while (!atomic_load_explicit(&f->quit, memory_order_relaxed)) {
		const int64_t now = bs_now_ns();

		bs_floor_note(&f->seen, now - before);
		before = now;
	}
	f->seen.seconds = (double)(before - start) * 1e-9;
	return NULL;
}

bool bs_floor_start(struct bs_floor *f, uint32_t processors)
{
	memset(f, 0, sizeof(*f));
	f->runs = processors >= BS_FLOOR_PROCESSORS && bs_thread_start(&f->thread, spin, f) == 0;
	return f->runs;
}

void bs_floor_stop(struct bs_floor *f)
{
	if (!f->runs)
		return;
	atomic_store(&f->quit, true);
	(void)pthread_join(f->thread, NULL);
	f->runs = false;
}
