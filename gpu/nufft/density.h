/*
 * gpu/nufft/density.h - density compensation: the weight of each sample in the adjoint
 *
 * weight  out [readout][sample] float
 * file    in  [readout][sample] float, density "file" only
 * ramp:  |k|^(dims-1), the area that a sample of a radial trajectory stands for; for a stack
 *        (kz on the grid) |k| in the plane. With normalization uniform the samples at k = 0 of a
 *        plane get what the integral over rings lacks; without it they have weight 0, as |k| says
 * pipe:  w <- w / (C (*) w), the iteration of Pipe and Menon from w = 1, density_iterations times;
 *        C is the Fejer kernel of the field of view
 * none:  1
 * Normalization uniform: all weights times 1 / Re sum_m w_m D(k_m), D(k) = sum_n exp(-i2pi k.n):
 * then an image of ones comes back as one at its center voxel. auto: uniform for ramp and pipe,
 * none for file and none.
 * At arm only, but for make: allocates (pipe: an image of twice the matrix an axis). The same bytes
 * for any team.
 * by: the same with another iteration in the place of pipe's own; all else is in one place.
 * Errors: BS_ERR_VALUE (weights that see nothing of an image of ones), BS_ERR_NOMEM, those of
 * nufft.h. CUDA twin: density_cuda.h. Tests: test/unit/gpu/test_density.c, test/twin/twin_density.c
 * Source: Pipe & Menon, Magn Reson Med 1999;41:179-186.
 */
#ifndef BS_GPU_NUFFT_DENSITY_H
#define BS_GPU_NUFFT_DENSITY_H

#include "core/engine.h"
#include "gpu/nufft/nufft.h"

BS_C_BEGIN

int bs_density(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
	       const float *file, struct bs_team *team, struct bs_fail *why);

/* Writes weight [readout][sample] after density_iterations steps, not normalized. */
typedef int (*bs_density_pipe)(float *weight, const struct bs_protocol *p,
			       const struct bs_traj *traj, struct bs_team *team,
			       struct bs_fail *why);
int bs_density_pipe_host(float *weight, const struct bs_protocol *p, const struct bs_traj *traj,
			 struct bs_team *team, struct bs_fail *why);
int bs_density_by(bs_density_pipe pipe, float *weight, const struct bs_protocol *p,
		  const struct bs_traj *traj, const float *file, struct bs_team *team,
		  struct bs_fail *why);

/*
 * Returns the transform that one step applies forward and adjoint: twice the matrix on each axis,
 * one coil, no states.
 */
struct bs_nufft_spec bs_density_nufft(const struct bs_protocol *p, const struct bs_traj *traj);

/*
 * Density compensation for paths that are known only when the scan runs: need -> plan -> make* ->
 * close. make takes its memory from the arena at plan and allocates nothing. traj: a trajectory of
 * the protocol's sizes; its keys are not read. present [readout]: 0 where the readout did not come;
 * its weights are 0, its k anything in [-0.5, 0.5]. seen [readout][sample]: used where the weights
 * are normalized: what each sample sees of an image of ones, Re D(k). see computes it for each
 * readout as it comes; that is most of the normalization's work. One caller.
 */
struct bs_density_plan;
int bs_density_need(const struct bs_protocol *p, struct bs_need *need, struct bs_fail *why);
int bs_density_plan(struct bs_density_plan **plan, const struct bs_protocol *p,
		    struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_density_close(struct bs_density_plan *plan);
int bs_density_make(struct bs_density_plan *plan, float *weight, const struct bs_traj *traj,
		    const uint8_t *present, const double *seen, struct bs_fail *why);
bool bs_density_normalizes(const struct bs_protocol *p);
void bs_density_see(const struct bs_protocol *p, const float *k, size_t samples, double *seen);

BS_C_END
#endif
