/*
 * test/twin/engine/fed.h - an engine whose readouts come the ways that the service has for them
 *
 * add: as the service does it; n counts the calls. One thread.
 */
#ifndef BS_TEST_TWIN_FED_H
#define BS_TEST_TWIN_FED_H

#include <cuda_runtime_api.h>
#include <string.h>

#include "test/support/plan/engine.h"

/* How readouts get to the device: through its own pinned memory, from a shared pool, in place. */
enum way { STAGED, POOL, MAPPED, WAYS };
static const char *const way_name[] = { "staged", "from the pool", "mapped" };

#define SLOTS 7u

/* An engine and the pool that its readouts come from. */
struct fed {
	struct armed on;
	float *pool; /* [SLOTS] readouts, or NULL */
	size_t slot; /* floats */
	uint64_t stamp[SLOTS];
};

static inline int fed_open(struct fed *f, const struct bs_engine *engine,
			   const struct bs_protocol *p, const struct bs_tables *tables,
			   enum way way, struct bs_fail *why)
{
	struct bs_arm_env env = { .team = team, .cache_dir = "" };
	struct bs_protocol own = *p;

	memset(f, 0, sizeof(*f));
	own.gpu_memory = way == MAPPED ? BS_GPU_MEMORY_MAPPED : BS_GPU_MEMORY_COPY;
	f->slot = ((size_t)p->samples * p->coils * 2 + 15) & ~(size_t)15;
	if (way == POOL) {
		f->pool = aligned_alloc(4096, (SLOTS * f->slot * 4 + 4095) & ~(size_t)4095);
		env.pool = f->pool;
		env.pool_bytes = SLOTS * f->slot * 4;
	}
	return armed_open(&f->on, engine, &own, tables, env, why);
}

static inline void fed_close(struct fed *f)
{
	armed_close(&f->on);
	if (f->pool != NULL)
		(void)cudaHostUnregister(f->pool);
	(void)cudaGetLastError();
	free(f->pool);
}

/*
 * As the service does it: a slot is written again as soon as the engine says it was read, or once
 * add has returned where the engine does not say it.
 */
static inline int fed_add(struct fed *f, uint32_t frame, uint32_t row, const float *from,
			  uint32_t n)
{
	const struct armed *a = &f->on;
	const size_t bytes = (size_t)a->p.samples * a->p.coils * 8;
	uint64_t made;
	uint64_t read;
	float *slot;
	int rc;

	if (f->pool == NULL)
		return a->engine->add(a->self, frame, row, NULL, from, a->p.samples);
	slot = f->pool + (n % SLOTS) * f->slot;
	if (a->engine->reading == NULL) {
		memcpy(slot, from, bytes);
		rc = a->engine->add(a->self, frame, row, NULL, slot, a->p.samples);
		memset(slot, 0, bytes);
		return rc;
	}
	a->engine->reading(a->self, false, &made, &read);
	if (f->stamp[n % SLOTS] > read)
		a->engine->reading(a->self, true, &made, &read);
	memcpy(slot, from, bytes);
	rc = a->engine->add(a->self, frame, row, NULL, slot, a->p.samples);
	a->engine->reading(a->self, false, &made, &read);
	f->stamp[n % SLOTS] = made;
	return rc;
}

#endif
