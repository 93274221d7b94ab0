/* board/arm/alone.c - see alone.h */
#include "board/arm/alone.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "board/arm/measure.h"
#include "config/config.h"
#include "core/hash.h"
#include "core/thread/clock.h"
#include "core/version.h"
#if BS_GPU
#include "gpu/device/memory.h"
#endif

static const struct bs_tune_kind kind = { "sharing", 1, { { "alone", 1, 1 } } };

/* ---- which is faster ---- */

static int pair(struct bs_tune_match *m, int i, bs_alone_frame frame, void *arg,
		struct bs_fail *why)
{
	int rc = 0;

	for (int round = 0; round < 2 && rc == 0; round++) {
		/* each trial is first in every second round */
		const bool alone = (round + i) % 2 != 0;
		struct bs_tune_runs *r = alone ? &m->own : &m->against;
		double ms[2];

		rc = frame(arg, alone, ms, why);
		for (int d = 0; d < 2 && rc == 0; d++)
			r->ms[d][r->n[d]++] = ms[d];
	}
	return rc;
}

/* Returns true if nothing that further pairs could show would change what is chosen. */
static bool is_settled(const struct bs_tune_match *m, int pairs)
{
	return bs_tune_settled(m, 0, pairs) && (bs_tune_lost(m) || bs_tune_settled(m, 1, pairs));
}

int bs_alone_judge(struct bs_tuning *t, bs_alone_frame frame, void *arg, double seconds,
		   struct bs_fail *why)
{
	const int64_t until_ns = bs_now_ns() + (int64_t)(seconds * 1e9);
	struct bs_tune_match m = { 0 };
	double first[2][2];
	int rc = 0;

	memset(t, 0, sizeof(*t));
	t->kind = &kind;
	t->trials = 2;
	t->trial[1].tune.v[0] = 1;
	/* the first frame pays one-time costs and does not count */
	for (int alone = 0; alone < 2 && rc == 0; alone++)
		rc = frame(arg, alone != 0, first[alone], why);
	for (int i = 0; i < BS_TUNE_RUNS && rc == 0; i++) {
		t->cut = bs_now_ns() >= until_ns;
		if (t->cut)
			break;
		rc = pair(&m, i, frame, arg, why);
		if (rc == 0 && is_settled(&m, i + 1))
			break;
	}
	for (int d = 0; d < 2 && rc == 0; d++) {
		const bool any = m.own.n[d] > 0;

		t->trial[0].ms[d] = any ? bs_tune_median(&m.against, d) : first[0][d];
		t->trial[1].ms[d] = any ? bs_tune_median(&m.own, d) : first[1][d];
	}
	t->best = rc == 0 && bs_tune_won(&m) ? 1 : 0;
	return rc;
}

struct bs_alone bs_alone_of(const struct bs_tuning *t, uint32_t gpus)
{
	return (struct bs_alone){
		.chosen = t->best == 1,
		.gpus = gpus,
		.shared_ms = t->trial[0].ms[0],
		.alone_ms = t->trials > 1 ? t->trial[1].ms[0] : 0.0,
	};
}

void bs_alone_words(char *words, size_t size, const struct bs_alone *s)
{
	words[0] = '\0';
	if (s->shared_ms <= 0.0) /* the measurement is missing */
		return;
	if (s->chosen)
		(void)snprintf(words, size, " alone: %.3f ms, %.3f on %u", s->alone_ms,
			       s->shared_ms, s->gpus);
	else
		(void)snprintf(words, size, ", %.3f ms, %.3f alone", s->shared_ms, s->alone_ms);
}

/* ---- of an armed protocol ---- */

bool bs_alone_asked(const struct bs_engine *engine, const struct bs_protocol *p,
		    const char *cache_dir)
{
	return p->gpu_share == BS_GPU_SHARE_AUTO && cache_dir[0] != '\0' &&
	       bs_plan_on_gpu(engine->place) && p->plan.parts > 1;
}

bool bs_alone_keeps(const char *cache_dir)
{
	return access(cache_dir, W_OK | X_OK) == 0;
}

static uint64_t hash_settings(const struct bs_protocol *p)
{
	char *text = NULL;
	size_t len = 0;
	uint64_t h = 0;
	FILE *to = open_memstream(&text, &len);

	if (to == NULL)
		return 0;
	bs_config_print_protocol(to, p);
	if (fclose(to) == 0)
		h = bs_hash_bytes(BS_HASH_START, text, len);
	free(text);
	return h;
}

/* Writes the current GPU's name and its driver's version into words. */
static bool name_device(char *words, size_t size)
{
#if BS_GPU
	struct bs_gpu_info gpu;
	struct bs_fail why;

	if (bs_gpu_probe(&gpu, &why) != 0)
		return false;
	(void)snprintf(words, size, "%s, driver %" PRIu32, gpu.name, gpu.driver);
	return true;
#else
	(void)words;
	(void)size;
	return false;
#endif
}

/* Makes the cache's key. False: the key cannot be told, and nothing is kept. */
static bool key_of(char key[BS_ALONE_KEY], const struct bs_armed *a)
{
	const struct bs_traj *t = &a->loaded.traj;
	char place[BS_PLAN_PLACE_WORDS];
	const uint64_t settings = hash_settings(a->protocol);
	char device[96];

	if (settings == 0 || !name_device(device, sizeof(device)))
		return false;
	(void)snprintf(key, BS_ALONE_KEY,
		       "sharing 1, boreside %s, %s on %s, %s, route %d, memory %d, "
		       "settings %016" PRIx64 ", trajectory %016" PRIx64,
		       BS_VERSION, bs_armed_engine(a), device,
		       bs_plan_place_words(place, sizeof(place), &a->inner),
		       (int)a->inner.gpu_route, (int)a->inner.gpu_memory, settings,
		       bs_hash_words(BS_HASH_START, t->k,
				     (size_t)t->readouts * t->samples * t->dims * sizeof(*t->k)));
	return true;
}

bool bs_alone_known(struct bs_alone *s, const struct bs_armed *a, const char *cache_dir)
{
	struct bs_tuning *t = malloc(sizeof(*t));
	char key[BS_ALONE_KEY];
	bool known = t != NULL && key_of(key, a) && bs_tune_load(t, &kind, key, cache_dir);

	if (known)
		*s = bs_alone_of(t, a->inner.plan.parts);
	free(t);
	return known;
}

/* The measured reconstructions of the two trials, each with its own memory for frames. */
struct both {
	struct measuring *m[2];
};

static int frame_of(void *arg, bool alone, double ms[2], struct bs_fail *why)
{
	struct both *b = arg;
	int64_t ns[2];
	int rc = bs_measure_frame(b->m[alone], ns, why);

	for (int d = 0; d < 2 && rc == 0; d++)
		ms[d] = (double)ns[d] * 1e-6;
	return rc;
}

int bs_alone_measure(struct bs_alone *s, const struct bs_armed *shared,
		     const struct bs_armed *alone, const char *cache_dir, struct bs_fail *why)
{
	const struct bs_measure_env env = { .seconds = BS_ALONE_SECONDS };
	struct bs_tuning *t = malloc(sizeof(*t));
	struct both b = { { NULL, NULL } };
	char key[BS_ALONE_KEY];
	int rc = t == NULL ? bs_fail(why, BS_ERR_NOMEM, "protocol '%s'", shared->protocol->name)
			   : bs_measure_open(&b.m[0], shared, &env, why);

	if (rc == 0)
		rc = bs_measure_open(&b.m[1], alone, &env, why);
	if (rc == 0)
		rc = bs_alone_judge(t, frame_of, &b, BS_ALONE_SECONDS, why);
	for (int i = 0; i < 2; i++)
		bs_measure_close(b.m[i]);
	if (rc == 0)
		*s = bs_alone_of(t, shared->inner.plan.parts);
	if (rc == 0 && key_of(key, shared))
		bs_tune_save(t, key, cache_dir);
	free(t);
	return rc;
}
