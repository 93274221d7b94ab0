/* board/service/reload.c - a changed site file comes into force; see supervising.h */
#include <stdio.h>
#include <sys/wait.h>

#include "board/service/herald.h"
#include "board/service/supervising.h"
#include "core/thread/clock.h"

#define AGAIN_NS      INT64_C(10000000000)  /* first wait before protocols are measured again */
#define AGAIN_MOST_NS INT64_C(600000000000) /* longest wait between two such measurements */

/* Ends a reload: logs it, and keeps its result for who asks. The next reload may begin. */
static void end(struct supervisor *v, const struct bs_fail *why)
{
	struct bs_reload *r = &v->shm.s->reload;

	r->code = why->code;
	(void)snprintf(r->text, sizeof(r->text), "%s", why->text);
	bs_herald_say(&v->shm, why->code != 0 ? BS_LOG_WARN : BS_LOG_INFO, "%s%s",
		      why->code != 0 ? "reload refused, the service goes on as it was: " : "",
		      r->text);
	atomic_store(&r->step, BS_RELOAD_NONE);
	atomic_store(&r->ended, atomic_load(&r->begun));
	for (int i = 0; i < BS_WORKERS; i++)
		bs_shm_ring_bell(&v->shm, i);
}

/* ---- protocols that were refused on a machine that was too busy to measure on ---- */

static void leave_again(struct supervisor *v)
{
	v->again_ns = bs_now_ns();
	v->again_in_ns = 2 * v->again_in_ns < AGAIN_MOST_NS ? 2 * v->again_in_ns : AGAIN_MOST_NS;
	v->shm.s->reload.again = 0;
	atomic_store(&v->shm.s->reload.step, BS_RELOAD_NONE);
	for (int i = 0; i < BS_WORKERS; i++)
		bs_shm_ring_bell(&v->shm, i);
}

static bool is_owed(const struct supervisor *v)
{
	bool owed = false;

	for (uint32_t i = 0; i < v->shm.s->site.protocols; i++)
		owed = owed || atomic_load(&v->shm.s->owed[i]) != 0;
	return owed;
}

/* Measures refused protocols again, less and less often; headers wait meanwhile. */
static void measure_again(struct supervisor *v)
{
	const int64_t now = bs_now_ns();

	if (!is_owed(v) || v->ending) {
		v->again_ns = 0;
	} else if (v->again_ns == 0) {
		v->again_ns = now;
		v->again_in_ns = AGAIN_NS;
	} else if (now - v->again_ns >= v->again_in_ns) {
		v->shm.s->reload.again = 1;
		atomic_store(&v->shm.s->reload.step, BS_RELOAD_WAIT);
		bs_shm_ring_bell(&v->shm, BS_WORKER_INGEST);
	}
}

/* ---- a changed site file ---- */

static void refuse_reload(struct supervisor *v, const struct bs_fail *why)
{
	struct bs_reload *r = &v->shm.s->reload;

	if (r->again) {
		leave_again(v);
		return;
	}
	bs_shm_unstage(&v->shm, &r->next);
	r->next = (struct bs_area){ 0 };
	end(v, why);
}

static void begin_reload(struct supervisor *v)
{
	struct bs_reload *r = &v->shm.s->reload;
	struct bs_fail why;

	v->reload_asked = false;
	atomic_fetch_add(&r->begun, 1);
	r->text[0] = '\0';
	r->next = (struct bs_area){ 0 };
	atomic_store(&r->step, BS_RELOAD_CHECK);
	if (v->ending)
		(void)bs_fail(&why, BS_ERR_STATE, "the service ends");
	else if (bs_spawn(v, "check", &v->checker) == 0)
		return;
	else
		(void)bs_fail(&why, BS_ERR_IO, "its check cannot be started");
	refuse_reload(v, &why);
}

/* Takes up what the checking process found. True: that process has ended. */
static void take_check(struct supervisor *v)
{
	struct bs_reload *r = &v->shm.s->reload;
	struct bs_fail why;
	int status;

	if (v->checker == 0 || waitpid(v->checker, &status, WNOHANG) != v->checker)
		return;
	v->checker = 0;
	if (atomic_load(&r->step) != BS_RELOAD_CHECK)
		return; /* the reload was given up meanwhile */
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		if (atomic_load(&bs_scan_newest(v->shm.s->scan)->open))
			bs_herald_say(&v->shm, BS_LOG_INFO,
				      "reload: the file is good; the scan in flight ends first");
		atomic_store(&r->step, BS_RELOAD_WAIT);
		bs_shm_ring_bell(&v->shm, BS_WORKER_INGEST);
		return;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 1 && r->text[0] != '\0')
		(void)bs_fail(&why, BS_ERR_CONFIG, "%.*s", (int)sizeof(r->text) - 1, r->text);
	else
		(void)bs_fail(&why, BS_ERR_ABORTED, "its check ended by %s %d",
			      WIFSIGNALED(status) ? "signal" : "status",
			      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	refuse_reload(v, &why);
}

/* True if nothing of a scan is under way and each worker has read the current site. */
static bool at_rest(const struct supervisor *v)
{
	for (int i = 0; i < BS_WORKERS; i++)
		if (v->child[i].pid == 0 ||
		    atomic_load(&v->shm.s->worker[i].phase) != BS_PHASE_READY)
			return false;
	return bs_ring_count(v->shm.acq_ring) == 0 &&
	       atomic_load(&v->shm.image_ring->head) == atomic_load(&v->shm.s->images.closed);
}

static void change(struct supervisor *v)
{
	struct bs_shared *s = v->shm.s;
	struct bs_fail why;

	if (!at_rest(v))
		return;
	v->area = s->area;
	if (bs_shm_switch(&v->shm, &why) != 0) {
		refuse_reload(v, &why);
		return;
	}
	bs_log_init("serve", (enum bs_log_level)s->site.log_level);
	atomic_store(&s->reload.step, BS_RELOAD_SWITCH);
	for (int i = 0; i < BS_WORKERS; i++)
		bs_shm_ring_bell(&v->shm, i);
}

/* True if all workers have the new site. A dead worker's successor begins with it. */
static bool all_renewed(const struct supervisor *v)
{
	const uint64_t now = atomic_load(&v->shm.s->generation);

	for (int i = 0; i < BS_WORKERS; i++)
		if (v->child[i].pid != 0 &&
		    atomic_load(&v->shm.s->worker[i].phase) == BS_PHASE_READY &&
		    atomic_load(&v->shm.s->worker[i].generation) != now)
			return false;
	return true;
}

static void finish_reload(struct supervisor *v)
{
	struct bs_shared *s = v->shm.s;
	struct bs_fail done;
	uint32_t new = 0;

	if (!all_renewed(v))
		return;
	bs_shm_unstage(&v->shm, &v->area);
	for (uint32_t i = 0; i < s->site.protocols; i++)
		new += s->reload.from[i] == BS_RELOAD_NEW;
	s->reload.held_ns = bs_now_ns() - atomic_load(&s->reload.held_since_ns);
	(void)bs_fail(&done, 0,
		      "reloaded: generation %llu, %u protocols, %u of them new or changed; headers "
		      "waited %.1f ms",
		      (unsigned long long)atomic_load(&s->generation), s->site.protocols, new,
		      (double)s->reload.held_ns * 1e-6);
	end(v, &done);
}

void bs_reload_lost(struct supervisor *v, int who)
{
	const uint32_t step = atomic_load(&v->shm.s->reload.step);
	struct bs_fail why;

	if (who != BS_WORKER_RECON || step < BS_RELOAD_ARM || step > BS_RELOAD_ARMED)
		return;
	(void)bs_fail(&why, BS_ERR_ABORTED, "the reconstruction process ended while it armed (%s)",
		      v->shm.s->worker[who].last_end);
	refuse_reload(v, &why);
}

void bs_reload_advance(struct supervisor *v)
{
	struct bs_reload *r = &v->shm.s->reload;
	struct bs_fail why;

	take_check(v);
	switch (atomic_load(&r->step)) {
	case BS_RELOAD_NONE:
		if (v->reload_asked && v->ready && v->checker == 0)
			begin_reload(v);
		else if (v->ready)
			measure_again(v);
		return;
	case BS_RELOAD_FAILED:
		(void)bs_fail(&why, r->code, "%.*s", (int)sizeof(r->text) - 1, r->text);
		refuse_reload(v, &why);
		return;
	case BS_RELOAD_ARMED:
		if (r->again)
			leave_again(v);
		else
			change(v);
		return;
	case BS_RELOAD_SWITCH:
		finish_reload(v);
		return;
	default:
		if (v->ending) {
			(void)bs_fail(&why, BS_ERR_STATE, "the service ends");
			refuse_reload(v, &why);
		}
	}
}
