/* gpu/toeplitz/cuda/cg_state.h - what a solve by conjugate gradients keeps in device memory */
#ifndef BS_GPU_TOEPLITZ_CUDA_CG_STATE_H
#define BS_GPU_TOEPLITZ_CUDA_CG_STATE_H

/* Of one image. */
struct bs_cg_state {
	double bb, rr, rz; /* squared norms of b and r, and r^H z */
	float alpha, beta;
	int stop;
	unsigned iterations; /* made */
	unsigned tickets;    /* blocks of this launch that have ended */
	/* two launches an iteration (step.cuh): the iteration under way, from 1; what the last one
	 * left for it, at its parity */
	unsigned turn;
	struct {
		double rz, pap;
	} last[2];
};

#endif
