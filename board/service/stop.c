/* board/service/stop.c - the end of the service; see supervising.h */
#include <signal.h>
#include <stdio.h>

#include "board/emit/folder.h"
#include "board/service/herald.h"
#include "board/service/supervising.h"
#include "core/text.h"
#include "core/thread/clock.h"

#define LAST_NS INT64_C(5000000000) /* shortest time that each worker gets to end */

void bs_stop_begin(struct supervisor *v, int status, int64_t each_ns)
{
	struct bs_shared *s = v->shm.s;
	const int64_t now = bs_now_ns();
	const bool ever = each_ns == INT64_MAX;

	atomic_store(&s->end_by_ns, ever ? INT64_MAX : now + each_ns + each_ns);
	atomic_store(&s->stop_by_ns, ever ? INT64_MAX : now + each_ns);
	v->draining = ever;
	v->stage_ns = now;
	if (!v->ending) {
		v->ending = true;
		v->status = status;
		bs_herald_notify("STOPPING=1");
		atomic_store(&s->stop, 1);
	}
	bs_shm_ring_bell(&v->shm, BS_WORKER_INGEST);
}

void bs_stop_told(struct supervisor *v, uint32_t signal)
{
	const int64_t drain_ns = (int64_t)(v->shm.s->site.drain_s * 1e9);
	const bool again = v->ending && !v->draining;

	bs_herald_say(&v->shm, BS_LOG_INFO, "signal %u: %s", signal,
		      again ? "the scan in flight is aborted" : "the service ends");
	bs_stop_begin(v, 0, again ? 0 : drain_ns);
}

void bs_stop_drain(struct supervisor *v)
{
	if (v->ending)
		return;
	bs_herald_say(&v->shm, BS_LOG_INFO,
		      "draining: no new scan is taken, what is under way is finished, then the "
		      "service ends");
	bs_stop_begin(v, 0, INT64_MAX);
}

bool bs_stop_advance(struct supervisor *v, int64_t now)
{
	uint32_t stage = atomic_load(&v->shm.s->stop);
	struct child *c = &v->child[stage - 1];
	int64_t by = atomic_load(&v->shm.s->end_by_ns);

	by = by > v->stage_ns + LAST_NS ? by : v->stage_ns + LAST_NS;
	/* a worker that still arms holds nothing yet and would not see the order to end */
	if (c->pid != 0 && stage > 1 && !c->stopping &&
	    atomic_load(&v->shm.s->worker[stage - 1].phase) == BS_PHASE_ARMING) {
		c->stopping = true;
		(void)kill(c->pid, SIGKILL);
	}
	if (c->pid != 0 && now > by) {
		bs_herald_say(&v->shm, BS_LOG_WARN, "%s does not end by itself: killed",
			      bs_worker_name((enum bs_worker)(stage - 1)));
		(void)kill(c->pid, SIGKILL);
		v->stage_ns = now;
	}
	if (c->pid != 0)
		return false;
	if (stage == BS_WORKERS)
		return true;
	v->stage_ns = now;
	atomic_store(&v->shm.s->stop, stage + 1);
	bs_shm_ring_bell(&v->shm, (int)stage);
	return false;
}

/* Logs and counts images that were left when emit died or had to be killed at the very end. */
static uint64_t say_left_behind(struct supervisor *v)
{
	const struct bs_ring *ring = v->shm.image_ring;
	uint64_t left = 0;

	for (uint64_t i = atomic_load(&v->shm.s->images.closed); i != atomic_load(&ring->head); i++)
		left += bs_entry_kind(ring->entry[i & ring->mask]) == BS_ENTRY_IMAGE;
	if (left != 0)
		bs_herald_say(&v->shm, BS_LOG_ERROR, "%llu images were not handed on at the end",
			      (unsigned long long)left);
	return left;
}

/* Logs what takers did not get, as outcomes count it, and what waited for them at the end. */
static uint64_t say_undelivered(struct supervisor *v, uint64_t *waited)
{
	uint64_t undelivered = 0;

	*waited = 0;
	for (int i = 0; i < BS_TAKERS; i++) {
		const struct bs_taker_record *r = &v->shm.s->taker[i];
		bool spills = r->policy == BS_POLICY_SPILL;
		uint64_t waiting = bs_taker_waiting(r);

		if (i != BS_TAKER_VIEWERS)
			undelivered += atomic_load(&r->failed) + atomic_load(&r->shed) +
				       atomic_load(&r->lost);
		*waited += spills ? 0 : waiting;
		if (waiting != 0 && !spills)
			bs_herald_say(&v->shm, BS_LOG_ERROR,
				      "%.64s: %llu images that waited for it were lost at the end",
				      r->name, (unsigned long long)waiting);
		waiting += atomic_load(&r->behind);
		if (waiting != 0 && spills)
			bs_herald_say(&v->shm, BS_LOG_INFO,
				      "%.64s: %llu images are on disk for the next start", r->name,
				      (unsigned long long)waiting);
	}
	return undelivered + *waited;
}

void bs_stop_report(struct supervisor *v)
{
	const struct bs_totals *t = &v->shm.s->totals;
	const unsigned long long left = say_left_behind(v);
	const unsigned long long unsent = left + atomic_load(&t->unsent);
	const unsigned long long scans = atomic_load(&t->scans);
	const unsigned long long images = atomic_load(&t->images);
	uint64_t waited;
	const unsigned long long undelivered = say_undelivered(v, &waited);
	char line[160];

	bs_herald_say(&v->shm, BS_LOG_INFO, "ended after %llu scan%s", scans, bs_text_s(scans));
	(void)snprintf(line, sizeof(line),
		       BS_FOLDER_ENDED "%d %llu scan%s, %llu image%s%s%llu%s, undelivered %llu\n",
		       v->status != 0 || left != 0 || waited != 0, scans, bs_text_s(scans), images,
		       bs_text_s(images), unsent != 0 ? ", of which " : " (", unsent,
		       unsent != 0 ? " were not handed on" : " were not handed on)", undelivered);
	bs_folder_note(v->lock, line);
}
