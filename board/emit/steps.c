/* board/emit/steps.c - see steps.h */
#include "board/emit/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/emit/folder.h"
#include "core/latency/admission.h"
#include "core/thread/canary.h"
#include "core/thread/clock.h"
#include "drivers/step/door.h"

#define SPIN_NS  INT64_C(1000000) /* time of polling for an answer, where the site wants polling */
#define TRIALS   21u              /* images, of which the first one warms the step up */
#define TRIAL_NS INT64_C(300000000)

/* A connection's trial images so far. */
struct bs_trial_images {
	uint64_t of; /* the door's count of connections; done: no more of this one */
	bool done;
	uint32_t n;
	int64_t spent_ns;
	struct bs_timing at[TRIALS];
};

int bs_emit_steps_open(struct emit *e, struct bs_fail *why)
{
	const struct bs_site *site = &e->env->site;
	const struct bs_pools *pools = &e->env->shm.s->pools;
	const uint64_t image = pools->image_bytes - BS_POOLS_PIXELS;
	const uint64_t frame = pools->step_bytes - pools->image_bytes;
	int rc = 0;

	if (site->steps == 0)
		return 0;
	e->door = calloc(site->steps, sizeof(*e->door));
	e->trial = calloc(site->steps, sizeof(*e->trial));
	if (e->door == NULL || e->trial == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "no memory for the steps");
	for (uint32_t i = 0; i < site->steps; i++)
		e->door[i].listening = e->door[i].peer = -1;
	for (uint32_t i = 0; rc == 0 && i < site->steps; i++) {
		const struct bs_step_spec *step = &site->step[i];

		atomic_store(&e->env->shm.s->step[i].there, 0); /* a predecessor's */
		atomic_store(&e->env->shm.s->step[i].ready, 0);
		atomic_store(&e->env->shm.s->step[i].trials, 0);
		rc = bs_folder_make(step->dir, 0750, why);
		if (rc == 0)
			rc = bs_door_open(&e->door[i], step->dir, step->name,
					  image > frame ? image : frame, step->budget_ms, why);
	}
	return rc;
}

void bs_emit_steps_close(struct emit *e)
{
	for (uint32_t i = 0; e->door != NULL && i < e->env->site.steps; i++)
		bs_door_close(&e->door[i]);
	free(e->door);
	free(e->trial);
	e->door = NULL;
	e->trial = NULL;
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

/* An image on its way to its step, until by_ns. */
static struct bs_door_job job_of(struct emit *e, const struct bs_mrd_image *head,
				 const void *pixels, uint64_t bytes, int64_t by_ns)
{
	return (struct bs_door_job){ .head = head,
				     .pixels = pixels,
				     .bytes = bytes,
				     .by_ns = by_ns,
				     .spin_ns = e->env->polls ? SPIN_NS : 0,
				     .beat = beat,
				     .arg = e->env };
}

/* ---- trial images ---- */

/* The head of an image of a protocol. */
static struct bs_mrd_image head_of(const struct bs_protocol *p)
{
	const bool complex_out = p->output == BS_OUTPUT_COMPLEX;
	struct bs_mrd_image h = { .data_type = complex_out ? BS_MRD_CXFLOAT : BS_MRD_FLOAT,
				  .image_type = complex_out ? BS_MRD_COMPLEX : BS_MRD_MAGNITUDE,
				  .channels = (uint16_t)bs_protocol_channels(p) };

	for (int a = 0; a < 3; a++) {
		h.matrix_size[a] = (uint16_t)bs_protocol_image_axis(p, a);
		h.field_of_view[a] = (float)h.matrix_size[a];
	}
	if (p->volume)
		h.matrix_size[2] = (uint16_t)p->slices;
	h.read_dir[0] = h.phase_dir[1] = h.slice_dir[2] = 1.0f;
	return h;
}

/* Gives the step one image of no scan, 1 with a grain. Returns what became of it. */
static uint32_t run_trial(struct emit *e, uint32_t i, const struct bs_protocol *p)
{
	const struct bs_shared *s = e->env->shm.s;
	struct bs_trial_images *t = &e->trial[i];
	const uint64_t bytes = bs_protocol_leaving_bytes(p);
	const uint64_t frame = bs_protocol_kspace_bytes(p);
	const size_t most = (size_t)(bytes > frame ? bytes : frame);
	float *in = malloc(2 * most);
	const struct bs_mrd_image head = head_of(p);
	struct bs_step_result result = { .verdict = BS_STEP_LOADING };

	for (size_t k = 0; in != NULL && k < most / sizeof(*in); k++)
		in[k] = 1.0f + (float)(k * 2654435761u % 1024u) * 1e-5f;
	const int64_t from_ns = bs_now_ns();
	struct bs_door_job job = job_of(e, &head, in, bytes, from_ns + bs_ns_of_ms(p->step.ms));

	bs_door_give_frame(&job, p, in);
	if (in != NULL)
		bs_door_run(&e->door[i], &job, in + most / sizeof(*in), &result);
	free(in);
	const int64_t now = bs_now_ns();
	const int64_t stalled =
		bs_canary_stalled(s->canary, atomic_load(&s->canaries), from_ns, now, now);

	t->at[t->n++] = (struct bs_timing){ result.ns, stalled * 20 > now - from_ns };
	t->spent_ns += now - from_ns;
	return result.verdict;
}

/* Says what the trial images showed, and puts it into the status. */
static void tell_trial(struct emit *e, uint32_t i, const struct bs_protocol *p)
{
	struct bs_step_record *r = &e->env->shm.s->step[i];
	struct bs_trial_images *t = &e->trial[i];
	const uint32_t verdict = atomic_load(&r->trial);
	const bool warmed = t->n > 1;
	struct bs_estimate is;
	char words[BS_NAME_MAX + 200];

	bs_estimate_make(&is, t->at + warmed, t->n - warmed, p->margin);
	const bool keeps = !bs_step_bypassed(verdict) && is.worst_ns <= bs_ns_of_ms(p->step.ms);

	atomic_store(&r->trial_p50_ns, is.p50_ns);
	atomic_store(&r->trial_worst_ns, is.worst_ns);
	atomic_store(&r->trials, t->n);
	(void)snprintf(words, sizeof(words),
		       "step '%s' armed: p50 %.3f ms, at most %.3f with the margin, of a budget of "
		       "%g ms (N %u%s), the last one %s%s",
		       e->env->site.step[i].name, (double)is.p50_ns * 1e-6,
		       (double)is.worst_ns * 1e-6, p->step.ms, is.n,
		       is.busy ? ", busy machine" : "", bs_step_verdict_name(verdict),
		       keeps ? "" : ": images will leave without it");
	bs_emit_say(e, keeps ? BS_EVENT_TOLD : BS_EVENT_LIMIT, 0, words);
}

/* Runs the next trial image of a step, if one is owed. */
static bool try_step(struct emit *e, uint32_t i, const struct bs_protocol *p)
{
	struct bs_step_record *r = &e->env->shm.s->step[i];
	struct bs_trial_images *t = &e->trial[i];
	struct bs_door *d = &e->door[i];
	uint32_t verdict;

	if (t->of != d->came)
		*t = (struct bs_trial_images){ .of = d->came };
	if (t->done || !bs_door_ready(d) || d->owed_ns != 0)
		return false;
	verdict = run_trial(e, i, p);
	atomic_store(&r->trial, verdict);
	t->done = t->n == TRIALS || (t->n > 2 && t->spent_ns > TRIAL_NS) ||
		  (bs_step_bypassed(verdict) && verdict != BS_STEP_LATE);
	if (t->done)
		tell_trial(e, i, p);
	show(e, i);
	return true;
}

bool bs_emit_steps_try(struct emit *e)
{
	const struct bs_site *site = &e->env->site;
	bool again = false;

	for (uint32_t i = 0; i < site->protocols; i++)
		if (site->protocol[i].step.at > 0)
			again = try_step(e, site->protocol[i].step.at - 1, &site->protocol[i]) ||
				again;
	bs_worker_beat(e->env);
	return again;
}

/* ---- images ---- */

void bs_emit_steps_run(struct emit *e, uint32_t slot)
{
	struct bs_shm *shm = &e->env->shm;
	struct bs_image_meta *m = &shm->image_meta[slot];
	const struct bs_protocol *p = &e->env->site.protocol[m->protocol];
	const uint32_t at = p->step.at - 1;
	struct bs_step_record *r = &shm->s->step[at];
	struct bs_door_job job =
		job_of(e, &m->image.head, bs_shm_image(shm, slot) + BS_POOLS_PIXELS,
		       bs_message_pixels(p, m), m->made_ns + bs_ns_of_ms(p->step.ms));
	struct bs_step_result result = { 0 };

	if (m->step.verdict != BS_STEP_NONE) /* a process before this one has decided */
		return;
	job.scan = (uint32_t)m->scan;
	job.image = (uint32_t)m->image.number;
	if (bs_pool_in_use(shm->image_pool) == shm->image_pool->slots)
		job.by_ns = 0; /* recon waits for a slot, or will */
	bs_door_look(&e->door[at]);
	(void)snprintf(m->step.name, sizeof(m->step.name), "%s", e->env->site.step[at].name);
	bs_door_give_frame(&job, p, bs_shm_kspace(shm, slot));
	bs_door_run(&e->door[at], &job, bs_shm_stepped(shm, slot) + BS_POOLS_PIXELS, &result);
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
