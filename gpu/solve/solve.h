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
	const float *maps; /* maps of the slice; NULL: no maps */
	/* lines of the grid [kz][ky], not 0 where the line came; NULL off the grid */
	const uint8_t *lines;
	const float *fhd;
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
	/* Solves from now on with W, whose values may have changed, or without it. */
	void (*hold)(void *plan, bool hold);
};

/* Returns NULL for BS_SOLVE_NONE: the sums F^H d are the images. */
const struct bs_solving *bs_solving_of(enum bs_solve solve);

/* Returns the specification of Cartesian SENSE, which host and CUDA share. */
struct bs_unfold_spec bs_unfolding_spec(const struct bs_protocol *p);

BS_C_END
#endif
