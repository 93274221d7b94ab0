/* board/service/steps.c - the site's own steps that the service starts; see supervising.h */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "board/service/herald.h"
#include "board/service/supervising.h"
#include "core/thread/clock.h"
#include "drivers/step/start.h"

#define LAST_NS  INT64_C(1000000000) /* time for a step to end by itself */
#define READY_NS INT64_C(5000000000) /* time to get ready before the log says a word */

static const struct bs_step_spec *spec(const struct supervisor *v, uint32_t i)
{
	return &v->shm.s->site.step[i];
}

/* Signals a step and what it has started, as a script does. */
static void signal_step(pid_t pid, int number)
{
	if (kill(-pid, number) != 0)
		(void)kill(pid, number);
}

static void start_step(struct supervisor *v, uint32_t i, int64_t now)
{
	struct bridge *b = &v->step[i];
	struct bs_step_record *r = &v->shm.s->step[i];
	struct bs_fail why;

	b->start_ns = now;
	b->was_ready = b->told = false;
	b->generation = atomic_load(&r->cut);
	if (bs_step_start(&b->pid, spec(v, i), NULL, &why) != 0) {
		bs_herald_say(&v->shm, BS_LOG_ERROR, "%s", why.text);
		b->start_at_ns = bs_restart_at(&b->restart, false, now);
		return;
	}
	atomic_fetch_add(&r->starts, 1);
	atomic_store(&r->pid, (int32_t)b->pid);
	bs_herald_say(&v->shm, BS_LOG_INFO, "step '%s': process %d", spec(v, i)->name, (int)b->pid);
}

static bool reap(struct supervisor *v, uint32_t i, int64_t now)
{
	struct bridge *b = &v->step[i];
	struct bs_step_record *r = &v->shm.s->step[i];
	int status;

	if (b->pid == 0 || waitpid(b->pid, &status, WNOHANG) != b->pid)
		return b->pid == 0;
	(void)kill(-b->pid, SIGKILL); /* what it has left behind */
	b->pid = 0;
	atomic_store(&r->pid, 0);
	b->start_at_ns = bs_restart_at(&b->restart, b->was_ready, now);
	bs_end_words(r->last_end, status);
	if (!v->ending)
		bs_herald_say(&v->shm, BS_LOG_ERROR, "step '%s' ended: %s", spec(v, i)->name,
			      r->last_end);
	return true;
}

/* Says once that a step is not ready, whoever is to start it. No image waits for it. */
static void watch_ready(struct supervisor *v, uint32_t i, int64_t now)
{
	struct bridge *b = &v->step[i];
	const struct bs_step_record *r = &v->shm.s->step[i];

	if (b->start_ns == 0)
		b->start_ns = now;
	b->was_ready = b->was_ready || atomic_load(&r->ready) != 0;
	if (b->was_ready || b->told || v->ending || now - b->start_ns < READY_NS)
		return;
	b->told = true;
	bs_herald_say(&v->shm, BS_LOG_WARN,
		      "step '%s' is not ready after %d s (%s): images leave without it",
		      spec(v, i)->name, (int)(READY_NS / 1000000000),
		      atomic_load(&r->there) != 0 ? "loading" : "not connected");
}

void bs_steps_advance(struct supervisor *v, int64_t now)
{
	for (uint32_t i = 0; i < v->shm.s->site.steps; i++) {
		struct bridge *b = &v->step[i];

		if (spec(v, i)->command[0] == '\0' || b->pid != 0)
			watch_ready(v, i, now);
		if (spec(v, i)->command[0] == '\0')
			continue;
		if (!reap(v, i, now)) {
			if (b->generation != atomic_load(&v->shm.s->step[i].cut))
				signal_step(b->pid, SIGKILL); /* it hangs, or answers at random */
			continue;
		}
		if (!v->ending && now >= b->start_at_ns &&
		    atomic_load(&v->shm.s->worker[BS_WORKER_EMIT].phase) == BS_PHASE_READY)
			start_step(v, i, now);
	}
}

void bs_steps_end(struct supervisor *v)
{
	const struct timespec moment = { 0, 5000000 };
	const int64_t until = bs_now_ns() + LAST_NS;

	for (uint32_t i = 0; i < v->shm.s->site.steps; i++) {
		struct bridge *b = &v->step[i];

		if (b->pid != 0)
			signal_step(b->pid, SIGTERM);
	}
	for (uint32_t i = 0; i < v->shm.s->site.steps; i++) {
		while (!reap(v, i, bs_now_ns())) {
			if (bs_now_ns() > until)
				signal_step(v->step[i].pid, SIGKILL);
			(void)nanosleep(&moment, NULL);
		}
	}
}
