/*
 * core/engine.h - the reconstruction at one place, as a struct of functions
 *
 * What is done there the protocol's plan says (core/plan/plan.h): one engine for all methods.
 *
 * need -> arm -> { begin -> add* -> image }* -> disarm, per armed protocol.
 * need says the bytes that arm will take from the arena, from the protocol's sizes alone. arm does
 * all that the protocol fixes (tables, FFT plans, Q, device memory); it alone may allocate, block
 * or touch files (the cache). begin, add and image are for the recon thread only and allocate
 * nothing; on a GPU add only queues work, and image waits for it.
 * frame: 0 .. frames-1, the frame's slot (bs_protocol_frames may be open at once).
 * Each readout of a frame is added at most once; one that never comes counts as zeros. Results
 * depend on the data alone: not on arrival order or timing, not on the number of threads.
 */
#ifndef BS_CORE_ENGINE_H
#define BS_CORE_ENGINE_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/frame/kind.h"
#include "core/mrd.h"
#include "core/protocol.h"
#include "core/thread/team.h"
#include "core/traj/traj.h"

/* What board/ loaded for a protocol before it is armed. Lives as long as the engine. */
struct bs_tables {
	const struct bs_traj *traj; /* NULL: on the grid, or each readout brings its own path */
	const float *weight;        /* [readout][sample], density_file; NULL otherwise */
	const float *density;       /* [readout][sample]: weights made beforehand; NULL: not yet */
	const float *maps;          /* [slice][image][coil][z][y][x] complex; or NULL */
	float *made;        /* the same where the engine makes them from the scan; else NULL */
	const float *field; /* [slice][z][y][x] Hz, off resonance; NULL otherwise */
	float *turn; /* [slice][z][y][x] radians, field.from echoes: what the engine measures */
	const struct bs_csr *w; /* the anatomical constraint; NULL: identity */
	int32_t slab_y; /* of a GPU's slab: rows from the image's center to the slab's; else 0 */
	/* maps of some of the coils: complex values from one slice's to the next one's; else 0 */
	uint64_t maps_step;
};

/* Of tables->maps those of a slice; NULL where there are none. */
static inline const float *bs_maps_of(const float *maps, const struct bs_protocol *p,
				      uint32_t slice)
{
	return maps != NULL ? maps + 2 * (slice * bs_protocol_map_values(p)) : NULL;
}

struct bs_arm_env {
	struct bs_arena *arena; /* exactly what need asked for is left in it */
	struct bs_team *team;
	const char *cache_dir; /* "" : no cache */
	/*
	 * The service's shared pool, where readouts handed to add may lie: an engine on a GPU has
	 * them read from there. NULL: none, every add copies.
	 */
	const void *pool;
	size_t pool_bytes;
};

/*
 * Output velocity: what becomes of an image's coil images. Places are 1 .. bs_protocol_references.
 * All 0: nothing, the image is a magnitude.
 */
struct bs_flow {
	uint32_t keep;    /* the place that they are kept in, the image is a magnitude; 0: none */
	uint32_t against; /* the place of those that the image is a velocity against; 0: none */
	float venc;       /* cm/s: of a phase of pi */
};

static inline float bs_flow_scale(const struct bs_flow *f) /* cm/s of a radian */
{
	return (float)((double)f->venc / 3.14159265358979323846);
}

/*
 * What is said about an image that is made, for the image's attributes. The caller clears it and
 * may set allowed, gridded, unknown and flow, which are left as they are.
 */
struct bs_report {
	uint32_t allowed;    /* in: iterations at most; 0: the protocol's */
	bool gridded;        /* in: by the gridding that replaces a solve (core/frame/recon.h) */
	uint32_t unknown;    /* in: axes that partial Fourier leaves (core/frame/center.h) */
	struct bs_flow flow; /* in: output velocity */
	uint64_t order;      /* in: of frames that differ in contrast alone the same; of later ones
			      * of a slice more (core/frame/image.c) */
	uint32_t iterations; /* made; 0 for direct methods */
	double residual;     /* relative, after them */
	bool deadline_stop;  /* the next iteration would not have fitted */
	uint32_t segments;   /* of time, where a field map corrects; else 0 */
	double field_error;  /* theirs (gpu/solve/segments.h) */
	bool delayed;        /* its path was moved by delays that its scan's spokes told: */
	float delay[3];      /* xx, yy, xy, samples (core/traj/delay.h) */
	/*
	 * upload, accumulate, solve, combine, download: the time spent in image, by the device's
	 * clock where there is one; 0 where the method has no such stage
	 */
	int64_t stage_ns[BS_BUDGET_STAGES];
	struct bs_fail
		why; /* of an image that fails: its reason, where there is more than a code; code 0
			and a text: what the image lacks */
};

/* The iterations that a solve may make; iterations: the protocol's. */
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

/* Adds a solve: a report says the fewest iterations and the largest residual of all. */
static inline void bs_report_solve(struct bs_report *r, bool first, uint32_t iterations,
				   double residual)
{
	if (first || iterations < r->iterations)
		r->iterations = iterations;
	if (first || residual > r->residual)
		r->residual = residual;
}

/* The end of the next of so many turns that divide the remaining time equally. */
static inline int64_t bs_turn_end(int64_t deadline_ns, int64_t now_ns, int64_t turns)
{
	return deadline_ns == INT64_MAX ? INT64_MAX : now_ns + (deadline_ns - now_ns) / turns;
}

#define BS_ROW_NONE UINT32_MAX /* a readout that is no line of the image */

struct bs_engine {
	enum bs_plan_place place;
	int (*need)(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
	/*
	 * Likewise the device memory that arm takes and keeps, but for a W, whose size no protocol
	 * says. field: tables->field; NULL: what depends on it is not told. NULL: none, or it is
	 * not told. What arm takes only where there is room is in it. From arm on nothing else is
	 * taken. On several GPUs an entry for each, without what NCCL takes there.
	 */
	int (*device)(const struct bs_protocol *p, const float *field, struct bs_need *need,
		      struct bs_fail *why);
	int (*arm)(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		   const struct bs_arm_env *env, struct bs_fail *why);
	int (*begin)(void *self, uint32_t frame);
	/*
	 * k: of protocols whose readouts bring their own path, where the samples of this one lie,
	 * [sample][dims], cycles per voxel in [-0.5, 0.5), delays applied, copied before this
	 * returns; else NULL: tables->traj says it. data [coil][samples] complex, the protocol's
	 * samples only (discarded ones removed).
	 */
	int (*add)(void *self, uint32_t frame, uint32_t readout, const float *k, const float *data,
		   size_t coil_stride);
	/*
	 * Of what came since begin, or of the window's groups with held[group] set, added in the
	 * order of their numbers. image: bs_protocol_image_bytes; NULL: it was handed on before,
	 * and what it leaves for later frames is all that is wanted. deadline_ns: bs_now_ns's
	 * clock, INT64_MAX for none. held NULL: there is no window.
	 */
	int (*image)(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		     float *image, struct bs_report *report);
	void (*disarm)(void *self);
	/*
	 * NULL: add copies what it needs before it returns. Else data in env->pool may still be
	 * read after add has returned: *made adds so far, and the first *read of them no longer
	 * need their data; the caller leaves that of the others alone. wait: until all are read
	 * (microseconds).
	 */
	void (*reading)(void *self, bool wait, uint64_t *made, uint64_t *read);

	/*
	 * Sliding windows (frame_step > 0), where the plan has them. Between begin and fold
	 * come readouts of one group only (row / frame_step). Their sum replaces the group's part
	 * of the frame's window.
	 */
	int (*fold)(void *self, uint32_t frame, uint32_t group);

	/*
	 * Previews (preview_every > 0): the image of the readouts so far; the frame goes on
	 * unchanged. Where the plan has previews, and sums that are images. preview: the engine
	 * that is armed beside one that solves, for its previews, and for images when there is no
	 * time to solve (core/frame/recon.h).
	 */
	int (*peek)(void *self, uint32_t frame, float *image);
	const struct bs_engine *preview;

	/*
	 * A readout of a kind that the protocol uses (core/frame/kind.h) and that is no line of the
	 * image, or not only: calibration; a line that serves for both goes to add, then here.
	 * Noise, navigators and phase correction were used before and do not come. NULL where a
	 * method has no use for any. It may come before begin, between two frames and within
	 * one; calibration has its row as lines have. data [coil][coil_stride]
	 * complex from the first sample that is not discarded; how many follow, head says. It is
	 * copied before this returns.
	 */
	int (*side)(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		    const struct bs_mrd_acq *head, const float *data, size_t coil_stride);
	/*
	 * The slice's maps, or its field map (whose range is that at arm), have changed. NULL: they
	 * are read as they are when an image is made.
	 */
	int (*maps)(void *self, uint32_t slice);
	/* Another scan begins: what the last one brought by side is forgotten. May be NULL. */
	void (*scan)(void *self);
};

#endif
