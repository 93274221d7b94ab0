/*
 * gpu/solve/solve.h - the solvers on the host: each makes images of F^H d by a row of functions
 *
 * need -> plan -> { changed, solve }* -> close, as the functions of core/engine.h. images: the
 * result of a solve, [image][z][y][x] complex, made from F^H d [coil][z][y][x] complex.
 * Tests: test/unit/gpu/engine/test_engine_ls.c, test_engine_cartesian.c
 */
#ifndef BS_GPU_SOLVE_SOLVE_H
#define BS_GPU_SOLVE_SOLVE_H

#include "gpu/encode/encode.h"
#include "gpu/image/unfold.h"

BS_C_BEGIN

/* Input of one solve. */
struct bs_task {
	const struct bs_encoder *encoder;
	uint32_t slice;
	uint32_t pair; /* pair of slice and contrast, whose images follow each other */
	/* maps of the slice, or of the first of slices at once; NULL: no maps */
	const float *maps;
	/* lines of the grid [kz][ky], not 0 where the line came; NULL off the grid */
	const uint8_t *lines;
	const float *fhd;
	/*
	 * a sliding window: F^H d of its groups, part_step floats apart; whether each is held; the
	 * newest
	 */
	const float *parts;
	uint64_t part_step;
	const uint8_t *held;
	uint32_t newest;
	float *images;
	int64_t deadline_ns; /* deadline in ns by the clock of bs_now_ns; INT64_MAX: none */
};

struct bs_solving {
	uint32_t (*images)(const struct bs_protocol *p);
	int (*need)(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
	/* weight: as given to the encoder, which has been planned. */
	int (*plan)(void **plan, struct bs_encoder *encoder, const struct bs_tables *tables,
		    const float *weight, const struct bs_arm_env *env, struct bs_fail *why);
	void (*close)(void *plan); /* frees a plan, which may be NULL */
	void (*solve)(void *plan, const struct bs_task *task, struct bs_report *report);
	/*
	 * Tells the solver that the slice's maps have changed. NULL: the solver keeps nothing made
	 * from maps.
	 */
	void (*changed)(void *plan, uint32_t slice);
	/* Begins another scan: forgets the last images. NULL: the solver keeps none. */
	void (*scan)(void *plan);
	/* Solves from now on with W, whose values may have changed, or without it. */
	void (*hold)(void *plan, bool hold);
};

/*
 * Solves. live: W of each scan, or NULL. With a scan's first image it waits for W, and solves
 * without it to learn how far it is off: with the protocol's iterations, so that a process that
 * passes over this image learns the same. Returns 0, or an error where the scan has no W.
 */
int bs_solving_run(const struct bs_solving *solving, void *plan, const struct bs_task *task,
		   struct bs_live *live, struct bs_report *report);

/* Returns NULL for BS_SOLVE_NONE: the sums F^H d are the images. */
const struct bs_solving *bs_solving_of(enum bs_solve solve);

/* Returns the specification of Cartesian SENSE, which host and CUDA share. */
struct bs_unfold_spec bs_unfolding_spec(const struct bs_protocol *p);
/* Returns which slices of a slice's group its lines hold. It is valid as long as `a`. */
struct bs_unfold_group bs_unfolding_group(const struct bs_protocol *p, uint32_t slice,
					  const struct bs_apartness *a);

BS_C_END
#endif
