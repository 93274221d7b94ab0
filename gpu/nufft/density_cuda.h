/*
 * gpu/nufft/density_cuda.h - density compensation on the GPU: Pipe and Menon's steps
 *
 * weight  out [readout][sample] float, host memory; the rest as gpu/nufft/density.h. Only pipe's
 *         iteration runs on the GPU; ramp, file, none and the normalization run on the host.
 * pipe_cuda: the whole iteration on the current device, in memory of its own that it frees before
 * it returns (an image of twice the matrix an axis, and the transform's). The weights are copied
 * to the host once, at the end. Window and grid differ from the host's: the weights of both agree
 * to the accuracy of the transform in each step, not to the bit. They are the same bytes in every
 * run, whatever was measured for the protocol's own gridding: the plan is the untuned one.
 * bs_density_cuda: pipe on the device. Where the device has no room, or its gridding refuses the
 * sizes, it gives the host's weights, byte for byte, and a warning that says why.
 * tables: *with is *tables, and *made the weights that the protocol's method wants, once for all
 * that is planned from them (F^H d, Q, each GPU's share), before any of that takes device memory.
 * *made is NULL where the method wants no weights or the tables have them. It is malloc'd; the
 * caller frees it after the last use of *with.
 * Errors: as gpu/nufft/density.h; BS_ERR_GPU; pipe_cuda also BS_ERR_NOMEM with the need and the
 * free bytes, BS_ERR_UNSUPPORTED, BS_ERR_SIZE. At arm only, one thread. Only with GPU=1.
 * Host twin: density.c. Test: test/twin/twin_density.c
 */
#ifndef BS_GPU_NUFFT_DENSITY_CUDA_H
#define BS_GPU_NUFFT_DENSITY_CUDA_H

#include "gpu/nufft/density.h"

BS_C_BEGIN

/* Computes weights on the GPU; team is not used. */
int bs_density_pipe_cuda(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
			 struct bs_team *team, struct bs_fail *why);
int bs_density_cuda(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
		    const float *file, struct bs_team *team, struct bs_fail *why);
int bs_density_cuda_tables(struct bs_tables *with, float **made, const struct bs_protocol *p,
			   const struct bs_tables *tables, struct bs_team *team,
			   struct bs_fail *why);

BS_C_END
#endif
