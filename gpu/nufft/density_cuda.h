/*
 * gpu/nufft/density_cuda.h - density compensation on the GPU: Pipe and Menon's steps
 *
 * weight  out [readout][sample] float, host memory; the rest as gpu/nufft/density.h. Only pipe's
 *         iteration runs on the GPU: ramp, file, none and the normalization are the host's.
 * pipe_cuda: the iteration whole on the current device, in memory of its own that is given back
 * before it returns (an image of twice the matrix an axis, and the transform's); the weights come
 * down once, at the end. Another window and grid than the host's: the weights of both agree to the
 * accuracy of the transform in each step, not to the bit. The same bytes in every run and for any
 * choice measured for the protocol's own gridding: the plan is the untuned one.
 * bs_density_cuda: pipe on the device; where that cannot be had (no room there, sizes that the
 * device's gridding refuses), the host's, byte for byte, and a warning that says why.
 * tables: *with is *tables, and *made the weights that the protocol's method wants, once for all
 * that is planned from them (F^H d, Q, each GPU's share) and before any of that takes device
 * memory; NULL where it wants none or they are there already. *made is malloc'd, the caller's to
 * free after *with's last use.
 * Errors: as gpu/nufft/density.h; BS_ERR_GPU; pipe_cuda also BS_ERR_NOMEM with need and what was
 * free, BS_ERR_UNSUPPORTED, BS_ERR_SIZE. At arm only, one thread. Only with GPU=1.
 * Host twin: density.c. Test: test/twin/twin_density.c
 */
#ifndef BS_GPU_NUFFT_DENSITY_CUDA_H
#define BS_GPU_NUFFT_DENSITY_CUDA_H

#include "gpu/nufft/density.h"

BS_C_BEGIN

/* team is not used. */
int bs_density_pipe_cuda(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
			 struct bs_team *team, struct bs_fail *why);
int bs_density_cuda(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
		    const float *file, struct bs_team *team, struct bs_fail *why);
int bs_density_cuda_tables(struct bs_tables *with, float **made, const struct bs_protocol *p,
			   const struct bs_tables *tables, struct bs_team *team,
			   struct bs_fail *why);

BS_C_END
#endif
