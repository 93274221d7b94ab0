/*
 * core/engine.h - a reconstruction method on one backend, as a struct of functions
 *
 * need -> arm -> { begin -> add* -> finish }* -> disarm, per armed protocol.
 * need says the bytes that arm will take from the arena, from the protocol's sizes alone. arm does
 * all that the protocol fixes (tables, FFT plans, Q, device memory) and is the only one that may
 * allocate, block or touch files (the cache). begin, add, finish are for the recon thread only,
 * allocate nothing; on a GPU add only queues work, finish waits for the image.
 * frame: 0 .. frames-1, the frame's slot (frames = slices x contrasts may be open at once).
 * Each readout of a frame is added at most once; one that never comes counts as zeros. Results
 * depend on the data alone: not on arrival order or timing, not on the number of threads.
 */
#ifndef BS_CORE_ENGINE_H
#define BS_CORE_ENGINE_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/protocol.h"
#include "core/thread/team.h"
#include "core/traj/traj.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What board/ loaded for a protocol before it is armed. Lives as long as the engine. */
struct bs_tables {
	const struct bs_traj *traj;
	const float *weight;    /* [readout][sample], density_file; NULL otherwise */
	const float *density;   /* [readout][sample], weights made beforehand, for CUDA
			       * engines and gpu/solve/lsq.h; NULL: by the engine */
	const float *maps;      /* [coil][z][y][x] complex; NULL otherwise */
	const struct bs_csr *w; /* the anatomical constraint; NULL: identity */
	int32_t slab_y; /* a GPU's slab of the image: rows from the image's center to its own; else 0 */
};

struct bs_arm_env {
	struct bs_arena *arena; /* exactly what need asked for is left in it */
	struct bs_team *team;
	const char *cache_dir; /* "" : no cache */
	/* The memory that readouts handed to add lie in, where there is one such (the service's shared
	 * pool): an engine on a GPU has it read from there. NULL: none, every add copies. */
	const void *pool;
	size_t pool_bytes;
};

/*
 * What finish says about an image; goes into the image's attributes. The caller clears it, and may
 * ask for less: finish leaves allowed and gridded as they are.
 */
struct bs_report {
	uint32_t allowed; /* in: iterations at most; 0: the protocol's */
	bool gridded;     /* in: by the gridding that stands in for a solver (core/frame/recon.h) */
	uint32_t iterations; /* solver; 0 for direct methods */
	double residual;     /* relative, solver */
	bool deadline_stop;  /* the solver stopped because the next iteration would not fit */
	/* upload, accumulate, solve, combine, download: what finish spent, by the device's clock where
	 * there is one; 0 where the method has no such stage */
	int64_t stage_ns[BS_BUDGET_STAGES];
};

/* The solver's iterations at most, of the protocol's. */
static inline uint32_t bs_report_most(const struct bs_report *r, uint32_t iterations)
{
	return r->allowed > 0 && r->allowed < iterations ? r->allowed : iterations;
}

/*
 * Time to keep free before a deadline for what follows the solver: the largest that was seen, less
 * a sixteenth with each image since.
 */
static inline int64_t bs_tail_longest(int64_t tail_ns, int64_t took_ns)
{
	const int64_t faded_ns = tail_ns - tail_ns / 16;

	return took_ns > faded_ns ? took_ns : faded_ns;
}

/* Of several solves a report says the worst: the fewest iterations, the largest residual. */
static inline void bs_report_solve(struct bs_report *r, bool first, uint32_t iterations,
				   double residual)
{
	if (first || iterations < r->iterations)
		r->iterations = iterations;
	if (first || residual > r->residual)
		r->residual = residual;
}

/* When the next of so many turns has to end, which share the time that is left alike. */
static inline int64_t bs_turn_end(int64_t deadline_ns, int64_t now_ns, int64_t turns)
{
	return deadline_ns == INT64_MAX ? INT64_MAX : now_ns + (deadline_ns - now_ns) / turns;
}

struct bs_engine {
	const char *name; /* "gridding/host" */
	int (*need)(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
	int (*arm)(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		   const struct bs_arm_env *env, struct bs_fail *why);
	int (*begin)(void *self, uint32_t frame);
	/* data [coil][samples] complex, the protocol's samples only (discarded ones removed) */
	int (*add)(void *self, uint32_t frame, uint32_t readout, const float *data,
		   size_t coil_stride);
	/* image: bs_protocol_image_bytes; deadline_ns: bs_now_ns's clock, INT64_MAX for none */
	int (*finish)(void *self, uint32_t frame, int64_t deadline_ns, float *image,
		      struct bs_report *report);
	void (*disarm)(void *self);
	/*
	 * NULL: add copies what it needs before it returns. Else data that lies in env->pool may still
	 * be read after that: made counts the adds so far, read how many of them, in their order, are
	 * done with their data; the caller leaves the others' as it is. wait: until all are, microseconds.
	 */
	void (*reading)(void *self, bool wait, uint64_t *made, uint64_t *read);

	/*
	 * Sliding windows (protocol's frame_step > 0); NULL where a method has none. Between begin
	 * and fold come readouts of one group only (row / frame_step). fold: what they sum to becomes
	 * the group's share of the frame's window, whatever was there before. slide: the image of the
	 * shares with held[group] set, added in the order of the groups' numbers.
	 */
	int (*fold)(void *self, uint32_t frame, uint32_t group);
	int (*slide)(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		     float *image, struct bs_report *report);
	/*
	 * Previews (protocol's preview_every > 0): the image of what the frame holds so far; the frame
	 * goes on as if nothing had been asked. NULL where a method has none. preview: the engine that
	 * is armed beside this one for its previews, and to stand in for it (core/frame/recon.h); NULL: it
	 * makes its own, and nothing stands in.
	 */
	int (*peek)(void *self, uint32_t frame, float *image);
	const struct bs_engine *preview;
};

#ifdef __cplusplus
}
#endif
#endif
