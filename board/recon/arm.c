/* board/recon/arm.c - every protocol made ready before the first scan; see recon.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/arm/measure.h"
#include "board/arm/memplan.h"
#include "board/recon/recon.h"
#include "board/service/realtime.h"
#include "gpu/calibrate/dense.h"
#if BS_GPU
#include "gpu/device/memory.h"
#endif

int (*bs_recon_selftest)(struct bs_selftest *out, const struct bs_armed *a, struct bs_team *team,
			 struct bs_fail *why);

static void beat(void *arg)
{
	bs_worker_beat(arg);
}

/* Times an armed protocol if its budget asks for it, in the same memory that scans will use. */
static int admit(struct recon_worker *w, struct bs_armed *a, struct bs_admission *out,
		 struct bs_fail *why)
{
	struct bs_shm *shm = &w->env->shm;
	struct bs_measure_env env = { .canary = shm->s->canary,
				      .canaries = atomic_load(&shm->s->canaries),
				      .seconds = BS_MEASURE_SECONDS,
				      .beat = beat,
				      .arg = w->env };
	uint32_t acq;
	uint32_t image;
	bool has_acq;
	bool has_image;
	int rc;

	/* a successor takes over its predecessor's measurement, so that it is ready at once */
	if (out->measured)
		return bs_admission_judge(out, a->protocol, why);
	if (!bs_measure_wanted(a->protocol))
		return 0;
	has_acq = bs_pool_take(shm->acq_pool, BS_OWNER_RECON, &acq);
	has_image = bs_pool_take(shm->image_pool, BS_OWNER_RECON, &image);
	env.samples = has_acq ? bs_shm_samples(shm, acq) : NULL;
	env.image = has_image ? (float *)(bs_shm_image(shm, image) + BS_POOLS_PIXELS) : NULL;
	rc = bs_measure(out, a, &env, why);
	if (has_acq)
		bs_pool_give(shm->acq_pool, acq);
	if (has_image)
		bs_pool_give(shm->image_pool, image);
	return rc != 0 ? rc : bs_admission_judge(out, a->protocol, why);
}

/* True if a refusal is due to a busy machine rather than to the protocol: it is measured again. */
static bool is_owed(int rc, const struct bs_admission *a)
{
	return rc == BS_ERR_BUDGET && a->measured && bs_admission_busy(a);
}

void bs_recon_worker_drop(struct bs_armed **at)
{
	if (*at != NULL)
		bs_armed_close(*at);
	*at = NULL;
}

int bs_recon_worker_arm_one(struct recon_worker *w, struct bs_armed **at,
			    const struct bs_protocol *p, struct bs_arming *out, struct bs_fail *why)
{
	struct bs_shared *s = w->env->shm.s;
	struct bs_armed *a = w->room;
	char text[256];
	int rc;

	while (a->protocol != NULL) /* room has twice as many places as a site has protocols */
		a++;
	rc = bs_armed_open_on(a, &w->env->site, p, w->team, bs_shm_samples(&w->env->shm, 0),
			      (size_t)(s->pools.acq_slots * s->pools.acq_bytes), why);
	/* a successor takes over what its predecessor found good, so that it is ready at once */
	if (rc == 0 && bs_recon_selftest != NULL &&
	    (out->selftest.words[0] == '\0' || !(out->selftest.error <= out->selftest.tolerance)))
		rc = bs_recon_selftest(&out->selftest, a, w->team, why);
	if (rc == 0)
		rc = admit(w, a, &out->admission, why);
	if (rc != 0 && !is_owed(rc, &out->admission)) {
		bs_armed_close(a);
		return rc;
	}
	*at = a;
	out->bytes = a->need.total_bytes;
	(void)snprintf(out->engine, sizeof(out->engine), "%s", bs_armed_engine(a));
	bs_armed_place(out->place, sizeof(out->place), a);
	(void)snprintf(s->lapack, sizeof(s->lapack), "%s", bs_dense_library());
	(void)snprintf(text, sizeof(text), "protocol '%s' on %s, %s", a->protocol->name,
		       bs_armed_engine(a), out->place);
	if (rc == 0)
		bs_worker_say(
			w->env, BS_EVENT_ARMED, 0,
			(const uint64_t[3]){ a->need.total_bytes, (uint64_t)a->arm_ns / 1000 },
			text);
	return rc;
}

/* Arms one protocol of the site in force. */
static int arm_present(struct recon_worker *w, uint32_t i, struct bs_fail *why)
{
	struct bs_shared *s = w->env->shm.s;
	static struct bs_arming a;
	int rc;

	a = (struct bs_arming){ .admission = s->admission[i], .selftest = s->selftest[i] };
	rc = bs_recon_worker_arm_one(w, &w->armed[i], &w->env->site.protocol[i], &a, why);
	s->admission[i] = a.admission;
	s->selftest[i] = a.selftest;
	if (w->armed[i] == NULL)
		return rc;
	bs_budget_open(&w->budget[i], w->armed[i]->protocol,
		       bs_recon_stands_in(w->armed[i]->recon));
	atomic_store(&s->budget[i].rung, BS_RUNG_FULL);
	s->arm_bytes[i] = a.bytes;
	memcpy(s->engine[i], a.engine, sizeof(s->engine[i]));
	memcpy(s->place[i], a.place, sizeof(s->place[i]));
	atomic_store(&s->owed[i], rc != 0);
	atomic_store(&s->armed[i], rc == 0);
	return rc;
}

static void say_fault(void *arg, const char *line)
{
	bs_worker_say(arg, BS_EVENT_FAULT, BS_ERR_CONFIG, NULL, line);
}

/* Notes why a protocol cannot be armed: scans that ask for it are refused; others are served. */
static void refuse_protocol(struct recon_worker *w, uint32_t i, const struct bs_fail *why)
{
	struct bs_shared *s = w->env->shm.s;

	const bool owed = atomic_load(&s->owed[i]) != 0;

	(void)snprintf(s->refusal[i], sizeof(s->refusal[i]), "%.*s%s", owed ? 340 : 383, why->text,
		       owed ? "; measured again once there is time" : "");
	s->refused[i] = why->code;
}

static void say_refusal(const struct recon_worker *w, uint32_t i)
{
	const struct bs_shared *s = w->env->shm.s;

	bs_worker_say(w->env, BS_EVENT_FAULT, s->refused[i], NULL, s->refusal[i]);
}

/* Measures one protocol again. It is admitted, or refused for good, or measured once more later. */
static void measure_again(struct recon_worker *w, uint32_t i)
{
	struct bs_shared *s = w->env->shm.s;
	static struct bs_admission a;
	char words[BS_EVENT_TEXT];
	struct bs_fail why;
	int rc;

	a = (struct bs_admission){ 0 };
	rc = admit(w, w->armed[i], &a, &why);
	s->admission[i] = a;
	if (is_owed(rc, &a))
		return;
	atomic_store(&s->owed[i], 0);
	if (rc != 0) {
		refuse_protocol(w, i, &why);
		say_refusal(w, i);
		bs_recon_worker_drop(&w->armed[i]);
		return;
	}
	s->refused[i] = 0;
	atomic_store(&s->armed[i], 1);
	(void)snprintf(words, sizeof(words),
		       "protocol '%s' is served: measured again, it keeps its budget",
		       w->armed[i]->protocol->name);
	bs_worker_say(w->env, BS_EVENT_NOTE, 0, (const uint64_t[3]){ 0 }, words);
}

void bs_recon_worker_measure(struct recon_worker *w)
{
	for (uint32_t i = 0; i < w->env->site.protocols; i++)
		if (atomic_load(&w->env->shm.s->owed[i]))
			measure_again(w, i);
}

/* Notes the free memory of the GPUs in use. The first GPU is the current one afterwards. */
static void note_gpus(struct bs_worker_env *env)
{
#if BS_GPU
	struct bs_shared *s = env->shm.s;
	const struct bs_devices *d = &s->site.gpu_devices;
	struct bs_gpu_info info;
	struct bs_fail why;

	bool mps = true;

	atomic_store(&s->gpus, 0);
	for (uint32_t i = bs_armed_on_gpu(s) ? d->count : 0; i-- > 0;) {
		struct bs_gpu_record *g = &s->gpu[i];

		if (bs_gpu_use(d->device[i], &why) != 0 || bs_gpu_probe(&info, &why) != 0)
			return;
		memcpy(g->name, info.name, sizeof(g->name));
		g->number = d->device[i];
		g->total_bytes = info.total_bytes;
		g->free_bytes = info.free_bytes;
		g->mps = info.mps;
		mps = mps && info.mps;
	}
	if (!bs_armed_on_gpu(s))
		return;
	atomic_store(&s->gpus, d->count);
	bs_rt_gpu_shared(env, mps);
#else
	(void)env;
#endif
}

/* Has W made of the newest image that the study keeps for each protocol. */
static void make_ahead(struct recon_worker *w)
{
	struct bs_study *study = w->env->shm.study;

	for (uint32_t i = 0; study != NULL && i < w->env->site.protocols; i++) {
		const bool takes = w->armed[i] != NULL && w->armed[i]->anatomy != NULL;
		uint64_t newest = 0;

		for (uint32_t slot = 0; takes && slot < study->slots[BS_KEPT_IMAGE]; slot++) {
			const struct bs_kept *k = &study->kept[BS_KEPT_IMAGE][slot];

			if (atomic_load(&k->number) > newest &&
			    bs_anatomy_ahead(w->armed[i]->anatomy, study, slot))
				newest = atomic_load(&k->number);
		}
	}
}

int bs_recon_worker_arm(struct recon_worker *w)
{
	static struct bs_memplan plan;
	struct bs_fail why = { 0 };
	int rc;

	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++) {
		atomic_store(&w->env->shm.s->armed[i], 0);
		atomic_store(&w->env->shm.s->owed[i], 0);
		w->env->shm.s->refused[i] = 0;
	}
	bs_worker_phase(w->env, BS_PHASE_ARMING);
	bs_rt_gpu(w->env);
	rc = bs_memplan_make(&plan, &w->env->site, say_fault, w->env);
	if (plan.code != 0)
		return rc;
	w->held = calloc(w->env->shm.acq_pool->slots, sizeof(*w->held));
	rc = w->held == NULL ? bs_fail(&why, BS_ERR_NOMEM, "a list of the pool's slots")
			     : bs_team_open(&w->team, (int)w->env->site.threads, &why);
	if (rc != 0) {
		bs_worker_say(w->env, BS_EVENT_FAULT, rc, NULL, why.text);
		return rc;
	}
	rc = BS_ERR_CONFIG; /* without any armed protocol there is nothing to serve */
	for (uint32_t i = 0; i < w->env->site.protocols; i++) {
		if (plan.protocol[i].why.code != 0) {
			refuse_protocol(w, i, &plan.protocol[i].why);
		} else if (arm_present(w, i, &why) != 0) {
			refuse_protocol(w, i, &why);
			say_refusal(w, i);
		}
		/* an armed one counts even if it is measured again */
		rc = w->armed[i] != NULL ? 0 : rc;
		bs_worker_beat(w->env);
	}
	make_ahead(w);
	note_gpus(w->env);
	return rc;
}

void bs_recon_worker_disarm(struct recon_worker *w)
{
	for (uint32_t i = 0; i < BS_PROTOCOLS_MAX; i++) {
		bs_recon_worker_drop(&w->armed[i]);
		bs_recon_worker_drop(&w->next[i]);
	}
	bs_team_close(w->team);
	free(w->held);
}

void bs_recon_worker_leave(struct recon_worker *w, const struct bs_recon_image *image)
{
	const struct bs_scan_record *scan = recon_record(w);
	struct bs_study *study = w->env->shm.study;
	const uint32_t slot = bs_study_image(study, &w->env->site, &scan->study,
					     w->current->protocol, &scan->info, image);

	for (uint32_t i = 0; slot != BS_SCAN_TAKES_NONE && i < w->env->site.protocols; i++)
		if (w->armed[i] != NULL && w->armed[i] != w->current &&
		    w->armed[i]->anatomy != NULL)
			(void)bs_anatomy_ahead(w->armed[i]->anatomy, study, slot);
}
