/*
 * test/support/plan/engine.h - an engine armed as the service arms it, a frame through it, and a W
 *
 * The arena is what need asks for, and sealed once armed. One thread.
 */
#ifndef BS_TEST_SUPPORT_PLAN_ENGINE_H
#define BS_TEST_SUPPORT_PLAN_ENGINE_H

#include <string.h>

#include "core/solve/csr.h"
#include "core/thread/team.h"
#include "gpu/engine/engines.h"
#include "test/support/check.h"

struct armed {
	const struct bs_engine *engine;
	struct bs_arena arena;
	struct bs_protocol p;
	void *self;
	struct bs_team *own; /* armed_with's */
};

/* engine NULL: the one that the service would choose. env: all but the arena. */
static inline int armed_open(struct armed *a, const struct bs_engine *engine,
			     const struct bs_protocol *p, const struct bs_tables *tables,
			     struct bs_arm_env env, struct bs_fail *why)
{
	struct bs_need need = { 0 };
	int rc = 0;

	memset(a, 0, sizeof(*a));
	a->p = *p;
	bs_plan_make(&a->p);
	a->engine = engine;
	env.arena = &a->arena;
	if (engine == NULL)
		rc = bs_engine_find(&a->engine, &a->p, why);
	if (rc == 0)
		rc = a->engine->need(&a->p, &need, why);
	if (rc == 0)
		rc = bs_arena_open(&a->arena, need.total_bytes, why);
	if (rc == 0)
		rc = a->engine->arm(&a->self, &a->p, tables, &env, why);
	a->arena.sealed = true;
	return rc;
}

static inline const char *armed_name(const struct armed *a)
{
	return bs_plan_engine(&a->p.plan, a->engine->place);
}

/* Also of one that was not armed. */
static inline void armed_close(struct armed *a)
{
	if (a->self != NULL)
		a->engine->disarm(a->self);
	bs_arena_close(&a->arena);
	bs_team_close(a->own);
}

/* The service's engine with a team of so many; need says what arm takes, up to an alignment. */
static inline bool armed_with(struct armed *a, const struct bs_protocol *p,
			      const struct bs_tables *tables, int members)
{
	struct bs_team *own = NULL;
	struct bs_fail why = { 0 };
	int rc = bs_team_open(&own, members, &why);

	if (rc == 0)
		rc = armed_open(a, NULL, p, tables,
				(struct bs_arm_env){ .team = own, .cache_dir = "" }, &why);
	a->own = own;
	CHECK(rc == 0 && a->arena.size - a->arena.used < BS_ALIGN,
	      "%s: arm takes what need states: %zu of %zu %s", armed_name(a), a->arena.used,
	      a->arena.size, why.text);
	return rc == 0;
}

/* The image of all readouts in their order; data [readout][coil][sample] complex. */
static inline int armed_image(struct armed *a, const float *data, float *image,
			      struct bs_report *report)
{
	const struct bs_protocol *p = &a->p;
	int rc = a->engine->begin(a->self, 0);

	memset(report, 0, sizeof(*report));
	for (uint32_t r = 0; rc == 0 && r < p->readouts; r++)
		rc = a->engine->add(a->self, 0, r, NULL, data + 2ull * r * p->samples * p->coils,
				    p->samples);
	return rc != 0 ? rc : a->engine->image(a->self, 0, NULL, INT64_MAX, image, report);
}

/* W: weighted differences of neighbors along x, the last of a row against its first. */
static inline int make_w(struct bs_csr *w, const struct bs_protocol *p, uint64_t *seed,
			 struct bs_fail *why)
{
	const uint64_t voxels = bs_protocol_voxels(p);
	int rc = bs_csr_open(w, voxels, voxels, 2 * voxels, false, why);

	for (uint64_t v = 0; rc == 0 && v < voxels; v++) {
		const uint64_t x = v % p->matrix[0];
		const uint64_t next = x + 1 < p->matrix[0] ? v + 1 : v - x;
		const float weight = (float)(0.5 + check_uniform(seed));

		w->start[v] = 2 * v;
		w->col[2 * v] = (uint32_t)(v < next ? v : next);
		w->col[2 * v + 1] = (uint32_t)(v < next ? next : v);
		w->value[2 * v] = v < next ? -weight : weight;
		w->value[2 * v + 1] = v < next ? weight : -weight;
	}
	if (rc != 0)
		return rc;
	w->start[voxels] = 2 * voxels;
	return bs_csr_seal(w, why);
}

#endif
