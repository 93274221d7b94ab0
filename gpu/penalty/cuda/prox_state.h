/* gpu/penalty/cuda/prox_state.h - what a solve with a prior keeps in device memory */
#ifndef BS_GPU_PENALTY_CUDA_PROX_STATE_H
#define BS_GPU_PENALTY_CUDA_PROX_STATE_H

#include <stdbool.h>
#include <stdint.h>

#define BS_PROX_REFINED 8u /* most passes of a step: a refined step takes twice as many */

struct bs_prox_state {
	double objective, penalty; /* of x; P(x) is a part of it */
	double value;              /* P, as the prior has left it; includes lambda */
	double lambda;             /* weight of the prior */
	double t;                  /* FISTA's sequence */
	double step;               /* 1 / largest eigenvalue */
	double tolerance;
	double norm;         /* of the power iteration */
	float c;             /* momentum of the next move */
	uint32_t iterations; /* iterations made */
	uint32_t most;       /* iterations allowed */
	uint32_t still;      /* iterations in succession that gained next to nothing */
	/*
	 * A proximal step that iterates takes `passes` passes of the solver, of which this is
	 * number `pass`; dual_t, dual_c: its own sequence and momentum.
	 */
	uint32_t passes, pass;
	double dual_t;
	float dual_c;
	uint32_t tickets; /* blocks of this launch that have ended */
	bool starts;      /* z is where the solve starts, not an iteration's */
	bool plain;       /* there is no momentum in the next step */
	bool ended;       /* nothing is to be gained */
	bool stop;        /* the solve has ended; what is still queued does nothing */
	uint8_t move;     /* how the vectors go on: enum bs_prox_move */
};

enum bs_prox_move {
	BS_PROX_STAYS,   /* the proximal step takes another pass, or the solve has ended */
	BS_PROX_ACCEPTS, /* z becomes x */
	BS_PROX_REJECTS  /* x is kept; momentum is forgotten */
};

#endif
