/* gpu/toeplitz/cuda/cg_state.h - what a solve by conjugate gradients keeps in device memory */
#ifndef BS_GPU_TOEPLITZ_CUDA_CG_STATE_H
#define BS_GPU_TOEPLITZ_CUDA_CG_STATE_H

/* State of the solve of one image. */
struct bs_cg_state {
	double bb, rr, rz; /* squared norms of b and r, and r^H z */
	float alpha, beta;
	int stop;
	unsigned iterations; /* number of iterations made */
	unsigned tickets;    /* blocks of this launch that have ended */
	/*
	 * For two launches an iteration (step.cuh): iteration is the number of the current one,
	 * from 1. last[iteration & 1] holds what the iteration before left for it.
	 */
	unsigned iteration;
	struct {
		double rz, pap;
	} last[2];
};

#endif
