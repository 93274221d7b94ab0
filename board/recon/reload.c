/* board/recon/reload.c - protocols that come and go between two scans; see recon.h */
#include <stdio.h>
#include <string.h>

#include "board/recon/recon.h"
#include "board/service/realtime.h"

static void leave_thread(void *arg, int task, int member)
{
	(void)arg;
	(void)task;
	(void)member;
	bs_rt_leave();
}

static void set_phase(struct recon_worker *w, enum bs_phase phase)
{
	atomic_store(&w->env->me->phase, (uint32_t)phase);
	for (int i = 0; i < BS_BELLS; i++)
		bs_shm_ring_bell(&w->env->shm, i);
}

/* Frees what was armed for a change that is not made. */
static void drop_next(struct recon_worker *w)
{
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++)
		bs_recon_worker_drop(&w->next[i]);
	w->has_next = false;
}

/*
 * Arms the new protocols beside the old ones, which stay as they are until all of the new ones can
 * be.
 */
static int arm_next(struct recon_worker *w, struct bs_fail *why)
{
	struct bs_reload *r = &w->env->shm.s->reload;
	static struct bs_site site;
	int rc = bs_shm_staged_site(&w->env->shm, &r->next, &site);

	drop_next(w);
	w->has_next = true;
	if (rc != 0)
		return bs_fail(why, rc, "the changed site cannot be read");
	for (uint32_t i = 0; rc == 0 && i < site.protocols; i++) {
		if (r->from[i] != BS_RELOAD_NEW)
			continue;
		r->armed[i] = (struct bs_arming){ 0 };
		rc = bs_recon_worker_arm_one(w, &w->next[i], &site.protocol[i], &r->armed[i], why);
		bs_worker_beat(w->env);
	}
	return rc;
}

/* Arms without a real-time priority, as at the start. */
static void arm(struct recon_worker *w)
{
	struct bs_reload *r = &w->env->shm.s->reload;
	struct bs_fail why = { 0 };
	int rc = 0;

	set_phase(w, BS_PHASE_ARMING);
	bs_team_each(w->team, leave_thread, NULL);
	if (r->again)
		bs_recon_worker_measure(w);
	else
		rc = arm_next(w, &why);
	if (rc != 0)
		drop_next(w);
	bs_rt_lock(w->env, false);
	bs_rt_enter_team(w->env, w->team);
	if (rc != 0) {
		r->code = rc;
		(void)snprintf(r->text, sizeof(r->text), "%s", why.text);
	}
	atomic_store(&r->step, rc != 0 ? BS_RELOAD_FAILED : BS_RELOAD_ARMED);
	set_phase(w, BS_PHASE_READY);
}

/* Gives up what the changed site no longer has; the rest takes its place. */
static void take_over(struct recon_worker *w)
{
	struct bs_armed *armed[BS_PROTOCOLS_MAX] = { NULL };
	static struct bs_budget budget[BS_PROTOCOLS_MAX];

	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++) {
		const uint32_t old = w->env->shm.s->reload.from[i];

		if (w->next[i] != NULL) {
			armed[i] = w->next[i];
			bs_budget_open(&budget[i], armed[i]->protocol,
				       bs_recon_stands_in(armed[i]->recon));
		} else if (old < BS_PROTOCOLS_MAX) {
			armed[i] = w->armed[old];
			budget[i] = w->budget[old];
			w->armed[old] = NULL;
		}
		w->next[i] = NULL;
	}
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++)
		bs_recon_worker_drop(&w->armed[i]);
	w->has_next = false;
	memcpy(w->armed, armed, sizeof(armed));
	memcpy(w->budget, budget, sizeof(budget));
	bs_rt_throttle(w->env);
}

void bs_recon_worker_reload(struct recon_worker *w)
{
	const struct bs_shared *s = w->env->shm.s;
	const uint32_t step = atomic_load(&s->reload.step);

	if (step == BS_RELOAD_ARM) {
		arm(w);
	} else if (atomic_load(&s->generation) != atomic_load(&w->env->me->generation)) {
		take_over(w);
		(void)bs_worker_renew(w->env);
	} else if (step == BS_RELOAD_NONE && w->has_next) {
		drop_next(w); /* the service ends, or the change could not be made */
	}
}
