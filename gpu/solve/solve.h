/*
 * gpu/solve/solve.h - what makes images of F^H d: a row of functions for each solver, on the host
 *
 * need -> plan -> { changed, solve }* -> close, as the functions of core/engine.h. images: those
 * that a solve makes, [image][z][y][x] complex, of F^H d [coil][z][y][x] complex.
 * Tests: test/unit/gpu/engine/test_engine_ls.c, test_engine_cartesian.c
 */
#ifndef BS_GPU_SOLVE_SOLVE_H
#define BS_GPU_SOLVE_SOLVE_H

#include "gpu/encode/encode.h"
#include "gpu/image/unfold.h"

BS_C_BEGIN

/* What is solved for. */
struct bs_task {
	const struct bs_encoder *encoder;
	uint32_t slice;
	const float *maps;    /* the slice's; NULL: none */
	const uint8_t *lines; /* of the grid, [kz][ky], not 0: it came; else NULL */
	const float *fhd;
	float *images;
	int64_t deadline_ns; /* bs_now_ns's clock, INT64_MAX for none */
};

struct bs_solving {
	uint32_t (*images)(const struct bs_protocol *p);
	int (*need)(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
	/* weight: as the encoder's, which is planned */
	int (*plan)(void **plan, struct bs_encoder *encoder, const struct bs_tables *tables,
		    const float *weight, const struct bs_arm_env *env, struct bs_fail *why);
	void (*close)(void *plan); /* or NULL */
	void (*solve)(void *plan, const struct bs_task *task, struct bs_report *report);
	/* The slice's maps are others than they were; NULL: they are read as they are. */
	void (*changed)(void *plan, uint32_t slice);
};

/* NULL: BS_SOLVE_NONE, the sums are the images. */
const struct bs_solving *bs_solving_of(enum bs_solve solve);

/* Cartesian SENSE; the same for both twins. */
struct bs_unfold_spec bs_unfolding_spec(const struct bs_protocol *p);

BS_C_END
#endif
