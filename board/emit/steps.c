/* board/emit/steps.c - see steps.h */
#include "board/emit/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/emit/folder.h"
#include "core/thread/clock.h"
#include "drivers/step/door.h"

#define SPIN_NS INT64_C(1000000) /* time of polling for an answer, where the site wants polling */

int bs_emit_steps_open(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	const uint64_t pixels = e->env->shm.s->pools.image_bytes - BS_POOLS_PIXELS;
	int rc = 0;

	if (site->steps == 0)
		return 0;
	e->door = calloc(site->steps, sizeof(*e->door));
	if (e->door == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the steps");
	for (uint32_t i = 0; i < site->steps; i++)
		e->door[i].listening = e->door[i].peer = -1;
	for (uint32_t i = 0; rc == 0 && i < site->steps; i++) {
		const struct bs_step_spec *step = &site->step[i];

		atomic_store(&e->env->shm.s->step[i].there, 0); /* a predecessor's */
		atomic_store(&e->env->shm.s->step[i].ready, 0);
		rc = bs_folder_make(step->dir, 0750, why);
		if (rc == 0)
			rc = bs_door_open(&e->door[i], step->dir, step->name, pixels,
					  step->budget_ms, why);
	}
	return rc;
}

void bs_emit_steps_close(struct emit *e)
{
	for (uint32_t i = 0; e->door != NULL && i < e->env->site.steps; i++)
		bs_door_close(&e->door[i]);
	free(e->door);
	e->door = NULL;
}

/* Shows a step's state, and says when it was lost. */
static void show(struct emit *e, uint32_t i)
{
	struct bs_step_record *r = &e->env->shm.s->step[i];
	struct bs_door *d = &e->door[i];
	const uint64_t cut = d->cut - d->told_cut;
	char words[BS_NAME_MAX + 96];

	atomic_store(&r->there, d->memory != NULL);
	atomic_store(&r->ready, bs_door_ready(d));
	if (d->lost == d->told_lost)
		return;
	d->told_lost = d->lost;
	d->told_cut = d->cut;
	(void)snprintf(words, sizeof(words), "step '%s': %s%s: images leave without it",
		       e->env->site.step[i].name, bs_step_verdict_name(d->away),
		       cut > 0 ? ", cut off" : "");
	bs_emit_say(e, BS_EVENT_LIMIT, 0, words);
	atomic_fetch_add(&r->cut, cut);
	bs_shm_ring_bell(&e->env->shm, BS_SUPERVISOR);
}

void bs_emit_steps_look(struct emit *e)
{
	for (uint32_t i = 0; i < e->env->site.steps; i++) {
		bs_door_look(&e->door[i]);
		show(e, i);
	}
}

/* Gives ingest the numbers of an image whose sender may ask for them. */
static void pass_numbers(struct emit *e, const struct bs_image_meta *m, const struct bs_protocol *p)
{
	struct bs_shm *shm = &e->env->shm;
	struct bs_said_numbers n = { .scan = m->scan,
				     .image = m->image.number,
				     .received_ns = m->image.last_ns,
				     .sender_ns = m->sender_ns,
				     .numbers = m->step.numbers };

	if (p->answers.count == 0 || bs_step_bypassed(m->step.verdict))
		return;
	memcpy(n.number, m->step.number, sizeof(n.number));
	bs_said_put(&shm->s->said, &n);
	bs_shm_ring_bell(shm, BS_WORKER_INGEST);
}

static void beat(void *arg)
{
	bs_worker_beat(arg);
}

void bs_emit_steps_run(struct emit *e, uint32_t slot)
{
	struct bs_shm *shm = &e->env->shm;
	struct bs_image_meta *m = &shm->image_meta[slot];
	const struct bs_protocol *p = &e->env->site.protocol[m->protocol];
	const uint32_t at = p->step.at - 1;
	struct bs_step_record *r = &shm->s->step[at];
	struct bs_door_job job = { .head = &m->image.head,
				   .pixels = bs_shm_image(shm, slot) + BS_POOLS_PIXELS,
				   .bytes = bs_message_pixels(p, m),
				   .scan = (uint32_t)m->scan,
				   .image = (uint32_t)m->image.number,
				   .by_ns = m->made_ns + bs_ns_of_ms(p->step.ms),
				   .spin_ns = e->env->polls ? SPIN_NS : 0,
				   .beat = beat,
				   .arg = e->env };
	struct bs_step_result result = { 0 };

	if (m->step.verdict != BS_STEP_NONE) /* a process before this one has decided */
		return;
	if (bs_pool_in_use(shm->image_pool) == shm->image_pool->slots)
		job.by_ns = 0; /* recon waits for a slot, or will */
	bs_door_look(&e->door[at]);
	(void)snprintf(m->step.name, sizeof(m->step.name), "%s", e->env->site.step[at].name);
	bs_door_run(&e->door[at], &job,
		    (unsigned char *)shm->s + shm->s->at.stepped +
			    slot * shm->s->pools.image_bytes + BS_POOLS_PIXELS,
		    &result);
	m->step.numbers = result.numbers;
	m->step.ns = result.ns;
	memcpy(m->step.number, result.number, sizeof(result.number));
	atomic_signal_fence(memory_order_seq_cst); /* the verdict is the last to be seen */
	m->step.verdict = result.verdict;
	pass_numbers(e, m, p);
	bs_hist_add(bs_shm_hist(shm, m->protocol, BS_STAGE_STEP), result.ns);
	atomic_store(&r->last, result.verdict);
	bs_count(&r->images[result.verdict], 1);
	show(e, at);
}
