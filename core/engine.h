/*
 * core/engine.h - the reconstruction at one place (host or GPU), as a struct of functions
 *
 * One engine serves all methods: the protocol's plan says what is done (core/plan/plan.h).
 *
 * need -> arm -> { begin -> add* -> image }* -> disarm, per armed protocol.
 * need tells the bytes that arm will take from the arena, from the protocol's sizes alone. arm does
 * all that the protocol fixes (tables, FFT plans, Q, device memory); it alone may allocate, block
 * or touch files (the cache). begin, add and image are for the recon thread only and allocate
 * nothing; on a GPU add only queues work, and image waits for it.
 * frame: 0 .. frames-1, the frame's slot (bs_protocol_frames may be open at once).
 * Each readout of a frame is added at most once; a readout that never comes counts as zeros.
 * Results depend on the data alone: not on arrival order, timing or the number of threads.
 */
#ifndef BS_CORE_ENGINE_H
#define BS_CORE_ENGINE_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/frame/kind.h"
#include "core/mrd.h"
#include "core/protocol.h"
#include "core/solve/prox.h"
#include "core/thread/team.h"
#include "core/traj/traj.h"

/* Tables that board/ loads for a protocol before it is armed. They live as long as the engine. */
struct bs_tables {
	/* trajectory; NULL: the protocol is on the grid, or each readout brings its own path */
	const struct bs_traj *traj;
	const float *weight;  /* [readout][sample], of density_file; NULL: there is none */
	const float *density; /* [readout][sample], weights made before arm; NULL: not made yet */
	const float *maps;    /* maps [slice][image][coil][z][y][x] complex; NULL: none */
	float *made;        /* buffer for the maps that the engine makes from the scan; else NULL */
	const float *field; /* field map [slice][z][y][x] Hz, off resonance; NULL: none */
	/*
	 * buffer [slice][z][y][x] radians for the phase from one echo to the next (field.from
	 * echoes)
	 */
	float *phase_step;
	const struct bs_csr *w; /* W, the anatomical constraint; NULL: identity */
	struct bs_live *live;   /* W is made for each scan (core/solve/live.h); NULL: it is not */
	/* rows from the image's center to the center of a GPU's slab; without slabs 0 */
	int32_t slab_y;
	/*
	 * complex values from one slice's maps to the next one's, where maps are of some of the
	 * coils; else 0
	 */
	uint64_t maps_step;
};

/* The maps of one slice, of tables->maps; NULL where there are none. */
static inline const float *bs_maps_of(const float *maps, const struct bs_protocol *p,
				      uint32_t slice)
{
	return maps != NULL ? maps + 2 * (slice * bs_protocol_map_values(p)) : NULL;
}

struct bs_arm_env {
	struct bs_arena *arena; /* arena, with exactly the memory left that need asked for */
	struct bs_team *team;
	const char *cache_dir; /* folder of the cache; "": no cache */
	/*
	 * The service's shared pool, where readouts handed to add may lie: an engine on a GPU reads
	 * them from there. NULL: there is no pool, and every add copies.
	 */
	const void *pool;
	size_t pool_bytes;
};

/*
 * Output velocity: what is done with an image's coil images. Places are 1 ..
 * bs_protocol_references. All 0: nothing is done, and the image is a magnitude.
 */
struct bs_flow {
	/* the place that keeps the coil images of this magnitude image; 0: they are not kept */
	uint32_t keep;
	/* the place of the coil images that this image is a velocity against; 0: none */
	uint32_t against;
	float venc; /* velocity in cm/s whose phase is pi */
};

static inline float bs_flow_scale(const struct bs_flow *f) /* Returns cm/s per radian. */
{
	return (float)((double)f->venc / 3.14159265358979323846);
}

/* How a slice came apart from those that were excited with it (multiband). */
struct bs_apartness {
	/* in: number of slices that the frame's lines hold; 0: the frame's own alone */
	uint32_t of;
	/* in: images with the same number are of the same lines; 0: it is not known */
	uint64_t lines;
	uint32_t step; /* in: acceleration along y by the header; 0: the header does not say */
	double cycles[BS_BANDS_MAX]; /* in: phase of each band from one line to the next */
	bool phased; /* the references have their bands' phases, as the lines have */
	/* ||sum of the references - lines|| / ||lines||, of the first whole frame */
	float left;
	/* [band]: share of the band that comes through into this slice; 0 at the slice's own */
	float leakage[BS_BANDS_MAX];
};

#define BS_W_WORDS 240u

/*
 * What the engine reports of an image that it makes, for the image's attributes. The caller clears
 * the structure and may set the members marked "in", which the engine leaves as they are.
 */
struct bs_report {
	uint32_t allowed; /* in: most iterations of the solve; 0: the protocol's number */
	/* in: the image is made by the gridding that replaces a solve (core/frame/recon.h) */
	bool gridded;
	/* in: the solver leaves the prior out (core/latency/budget.h) */
	bool quadratic;
	bool again; /* in: the image was made before, and is made as then (core/solve/solved.h) */
	/* in and out: most iterations of the solve that W is aligned by; 0: the protocol's */
	uint32_t first;
	uint32_t unknown; /* in: axes that partial Fourier leaves as zeros (core/frame/center.h) */
	bool falling;     /* in: the frame's lines along y came in falling order */
	struct bs_flow flow; /* in: what the image is for output velocity */
	struct bs_apartness apart;
	/*
	 * in: order of the frames of a slice; frames that differ in contrast alone share it
	 * (core/frame/image.c)
	 */
	uint64_t order;
	uint32_t iterations; /* iterations made; 0 for direct methods */
	/*
	 * of several solves the first alone has a deadline: iterations after which that stopped it,
	 * and which the others make; 0: it did not
	 */
	uint32_t cut;
	/* relative residual after the iterations that were made; 0 with a prior */
	double residual;
	double prior_lambda;      /* the prior's weight, in the image's unit */
	double objective;         /* with a prior: what the solve has come to (core/solve/prox.h) */
	enum bs_prox_reason stop; /* with a prior: why the solve ended */
	/* the solve ended because the next iteration would not have ended in time */
	bool deadline_stop;
	uint32_t segments;  /* number of time segments where a field map corrects; else 0 */
	double field_error; /* largest error of the time segments (gpu/solve/segments.h) */
	struct bs_w_report {
		bool asked;             /* the scan should have a W of its study */
		bool measured;          /* how far the scan lies from W's image was found */
		float offset[3];        /* that in voxels along x, y, z */
		char lacks[BS_W_WORDS]; /* why W is not used; "": it is */
	} w;
	/* the trajectory was moved by delays that were estimated from the scan's spokes */
	bool delayed;
	/* estimated delays of the trajectory in samples, xx, yy, xy (core/traj/delay.h) */
	float delay[3];
	/*
	 * Time spent in image on upload, accumulate, solve, combine and download, by the device's
	 * clock where there is one; 0 where the method has no such stage.
	 */
	int64_t stage_ns[BS_BUDGET_STAGES];
	/*
	 * why an image failed, where the code alone does not say it; code 0 with a text: what the
	 * image lacks
	 */
	struct bs_fail why;
};

/* The most iterations that a solve may make; iterations: the protocol's number. */
static inline uint32_t bs_report_most(const struct bs_report *r, uint32_t iterations)
{
	return r->allowed > 0 && r->allowed < iterations ? r->allowed : iterations;
}

/* When the i-th of an image's solves ends at the latest, and its most iterations. */
static inline int64_t bs_report_until(const struct bs_report *r, uint32_t i, int64_t deadline_ns,
				      uint32_t *iterations)
{
	*iterations = i > 0 && r->cut > 0 ? r->cut : bs_report_most(r, *iterations);
	return i > 0 ? INT64_MAX : deadline_ns;
}

/*
 * The time to keep free before a deadline for what follows the solver: the largest time that was
 * seen, which fades by a sixteenth with each image.
 */
static inline int64_t bs_tail_longest(int64_t tail_ns, int64_t took_ns)
{
	const int64_t faded_ns = tail_ns - tail_ns / 16;

	return took_ns > faded_ns ? took_ns : faded_ns;
}

/*
 * Adds one of several solves of an image: the report has the fewest iterations and the largest
 * residual of all.
 */
static inline void bs_report_solve(struct bs_report *r, bool first, uint32_t iterations,
				   double residual)
{
	if (first || iterations < r->iterations)
		r->iterations = iterations;
	if (first || residual > r->residual)
		r->residual = residual;
}

/* The last solve of slices at once, which is made with the image of the first of them. */
struct bs_once {
	uint64_t lines; /* report.apart.lines; 0: there is none that others can use */
	uint32_t allowed, iterations;
	double residual;
};
/* The image's solve is made, and the report says what it was. */
static inline bool bs_once_made(const struct bs_once *o, struct bs_report *r)
{
	if (o->lines == 0 || o->lines != r->apart.lines || o->allowed != r->allowed)
		return false;
	r->deadline_stop = false;
	bs_report_solve(r, true, o->iterations, o->residual);
	return true;
}
static inline void bs_once_make(struct bs_once *o, const struct bs_report *r)
{
	o->lines = r->deadline_stop ? 0 : r->apart.lines;
	o->allowed = r->allowed;
	o->iterations = r->iterations;
	o->residual = r->residual;
}

/*
 * Returns the time at which the next of `turns` equal shares of the time until the deadline ends.
 */
static inline int64_t bs_turn_end(int64_t deadline_ns, int64_t now_ns, int64_t turns)
{
	return deadline_ns == INT64_MAX ? INT64_MAX : now_ns + (deadline_ns - now_ns) / turns;
}

#define BS_ROW_NONE UINT32_MAX /* the row of a readout that is no line of the image */

struct bs_engine {
	enum bs_plan_place place;
	int (*need)(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
	/*
	 * need of device memory: what arm takes and keeps, but for W, whose size no protocol says.
	 * What arm takes only where there is room is counted, too. After arm nothing else is taken.
	 * On several GPUs there is an entry for each, without what NCCL takes there. field:
	 * tables->field; NULL: the memory that depends on it is not counted. A NULL function: the
	 * engine takes none, or does not tell it.
	 */
	int (*device)(const struct bs_protocol *p, const float *field, struct bs_need *need,
		      struct bs_fail *why);
	int (*arm)(void **self, const struct bs_protocol *p, const struct bs_tables *tables,
		   const struct bs_arm_env *env, struct bs_fail *why);
	int (*begin)(void *self, uint32_t frame);
	/*
	 * Adds a readout. k [sample][dims], cycles per voxel in [-0.5, 0.5), delays applied: where
	 * its samples lie, for protocols whose readouts bring their own path; else NULL, and
	 * tables->traj says it. k is copied before add returns. data [coil][samples] complex, the
	 * protocol's samples only (discarded ones removed).
	 */
	int (*add)(void *self, uint32_t frame, uint32_t readout, const float *k, const float *data,
		   size_t coil_stride);
	/*
	 * Makes an image of the readouts added since begin, or, of a sliding window, of the groups
	 * with held[group] set, summed in the order of their numbers (held NULL: there is no
	 * window). image: bs_protocol_image_bytes; NULL: the image was handed on before, and only
	 * what it leaves for later frames is wanted. deadline_ns: bs_now_ns's clock, INT64_MAX for
	 * none.
	 */
	int (*image)(void *self, uint32_t frame, const uint8_t *held, int64_t deadline_ns,
		     float *image, struct bs_report *report);
	void (*disarm)(void *self);
	/*
	 * Tells which readouts' data may still be read. *made: adds so far; the first *read of
	 * these no longer need their data in env->pool, and the caller leaves the data of the
	 * others alone. wait: returns when all are read (microseconds). NULL: add copies what it
	 * needs before it returns.
	 */
	void (*reading)(void *self, bool wait, uint64_t *made, uint64_t *read);

	/*
	 * Sliding windows (frame_step > 0), where the plan has them. Between begin and fold come
	 * readouts of one group only (row / frame_step). fold puts their sum in the place of the
	 * group's part of the frame's window.
	 */
	int (*fold)(void *self, uint32_t frame, uint32_t group);

	/*
	 * Previews (preview_every > 0), where the plan has them: peek makes the image of the
	 * readouts so far, and the frame goes on unchanged. It needs sums that are images. preview:
	 * the engine that is armed beside one that solves, for its previews, and for its images
	 * when there is no time to solve (core/frame/recon.h).
	 */
	int (*peek)(void *self, uint32_t frame, float *image);
	const struct bs_engine *preview;

	/*
	 * Takes a readout of a kind that the protocol uses (core/frame/kind.h) and that is not only
	 * a line of the image: calibration. A line that serves as both goes to add, then to side.
	 * Noise, navigators and phase correction are used before the engine and do not come here.
	 * It may come before begin, between two frames and within a frame; a calibration line has a
	 * row as image lines have. data [coil][coil_stride] complex from the first sample that is
	 * not discarded; head says how many follow. It is copied before side returns. NULL where a
	 * method has no use for any.
	 */
	int (*side)(void *self, uint32_t frame, enum bs_kind kind, uint32_t row,
		    const struct bs_mrd_acq *head, const float *data, size_t coil_stride);
	/*
	 * Makes what a frame of slices at once will need of the calibration that has come, once,
	 * whether it has begun or not. Images are the same without it. Returns the time it took,
	 * ns; 0: it made nothing. May be NULL, as a GPU's is.
	 */
	int64_t (*ahead)(void *self, uint32_t frame);
	/*
	 * The slice's maps, or its field map (within the range that it had at arm), have changed. A
	 * NULL function: the engine reads both anew for each image.
	 */
	int (*maps)(void *self, uint32_t slice);
	/*
	 * Begins another scan: the engine forgets what side brought in the last one. May be NULL.
	 */
	void (*scan)(void *self);
};

#endif
