/*
 * core/plan/plan.h - what a protocol is: how its images are made, decided in one place
 *
 * encode: what F^H d is, the sum over a frame's readouts. solve: what makes an image of it. Each is
 * a row of functions, on the host and on the GPU (gpu/encode/encode.h, gpu/solve/solve.h,
 * gpu/engine/cuda/operator.h); the tables of rows have these enums' length.
 * Pure: it depends on the protocol alone. Any thread. Test: test/unit/core/plan/test_plan.c
 */
#ifndef BS_CORE_PLAN_PLAN_H
#define BS_CORE_PLAN_PLAN_H

#include "core/protocol.h"

#ifdef __cplusplus
extern "C" {
#endif

enum bs_encode {
	BS_ENCODE_NOTHING, /* there is no work */
	BS_ENCODE_GRID,    /* a NUFFT along the protocol's trajectory */
	BS_ENCODE_EXACT,   /* the direct sum over its samples */
	BS_ENCODE_FIELD,   /* off resonance, by time segments */
	BS_ENCODE_PATH,    /* along the path that the readouts bring */
	BS_ENCODE_LINES,   /* FFTs of lines on the grid */
	BS_ENCODES
};

enum bs_solve {
	BS_SOLVE_NONE,   /* the sums are the coils' images */
	BS_SOLVE_CG,     /* conjugate gradients on F^H F */
	BS_SOLVE_UNFOLD, /* Cartesian SENSE: the lines that came, with maps */
	BS_SOLVES
};

struct bs_plan {
	enum bs_encode encode;
	enum bs_solve solve;
	uint32_t together; /* coils of an application of F^H F, or of a sum: all of them, or 1 */
};

struct bs_plan bs_plan_of(const struct bs_protocol *p);

#ifdef __cplusplus
}
#endif
#endif
