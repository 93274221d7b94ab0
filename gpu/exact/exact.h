/*
 * gpu/exact/exact.h - F^H d by direct sums over all samples, in single and double precision
 *
 * adjoint:  image[c][n] = sum_m w_m phi_m d[c][m] exp(+i2pi k_m.n)   n = -N/2 .. N/2-1
 * (N/2 truncated: an odd N has n = -(N-1)/2 .. (N-1)/2.)
 * k       [sample][dims] float, cycles per voxel, [-0.5, 0.5)
 * phi     voxel basis: delta 1; box sinc(k_x) sinc(k_y) sinc(k_z), sinc(t) = sin(pi t)/(pi t)
 * image   [coil][z][y][x] complex float; d [coil][sample] complex float; w [sample] float or NULL
 *
 * need -> plan -> { adjoint | begin, add*, finish }* -> close. Only plan and close allocate.
 * Incremental use as in gpu/nufft/nufft.h: chunk c holds the samples [c*chunk, (c+1)*chunk) and is
 * summed when all its samples are there, in the order 0, 1, 2 ...; samples that never come count
 * as zeros. Results are the same bit for bit for any number of threads and any order of add. Not
 * thread-safe: one caller per plan.
 *
 * The sum over a grid is separable, exp(i2pi k.n) = ex ey ez. Each axis is centered (even N: about
 * n = -1/2, a phase that goes into the data), so that cosines and sines of the half axis give
 * both halves: T[i][j][l] = sum_m DX[m][i] Y[m][j] Z[m][l], all real, with DX = {re d, im d} x
 * {cos, sin}(x), Y = {cos, sin}(y), Z = {cos, sin}(z), is a real matrix product, rows (i, j),
 * columns l, inner dimension the samples: 4 real operations per voxel and sample instead of 8.
 * Phases are made in double. Single precision: products of 256 samples are added in float, these
 * in double, relative error <= 1e-5 for any number of samples (measured: 3e-7). Double precision:
 * all of it in double (relative error about 1e-13), the reference.
 *
 * Twins: exact.c with exact_simd.c (host), exact.cu (CUDA). Tests: test/unit/gpu/test_exact.c,
 * test/twin/twin_exact.c
 * Sources: Stone et al., J Parallel Distrib Comput 2008;68:1307-1318 (the sums, the box basis).
 */
#ifndef BS_GPU_EXACT_EXACT_H
#define BS_GPU_EXACT_EXACT_H

#include <stdbool.h>

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/protocol.h"
#include "core/thread/team.h"

struct bs_exact_spec {
	uint32_t dims;      /* number of dimensions, 2 or 3 */
	uint32_t matrix[3]; /* voxels x, y, z; 1 beyond dims; odd sizes are legal; at most 2047 */
	uint32_t coils;     /* number of sums that share the trajectory */
	uint64_t samples;
	uint64_t chunk; /* samples of a chunk in incremental use; 0: the plan chooses */
	/* samples of one part, the only ones that come between begin and finish, as in nufft.h */
	uint64_t part;
	uint32_t states; /* number of accumulators, that is of frames open at once */
	enum bs_basis basis;
	bool twice;     /* sums are in double precision */
	bool real_data; /* d is [coil][sample] real float, for Q: half the work */
};

struct bs_exact;

int bs_exact_need(const struct bs_exact_spec *spec, struct bs_need *need, struct bs_fail *why);
/* Copies k and weight into the plan's tables. */
int bs_exact_plan(struct bs_exact **plan, const struct bs_exact_spec *spec, const float *k,
		  const float *weight, struct bs_arena *arena, struct bs_team *team,
		  struct bs_fail *why);
void bs_exact_close(struct bs_exact *plan);

/* Computes the whole sum; uses state 0. */
void bs_exact_adjoint(struct bs_exact *plan, const float *data, float *image);

/*
 * Accumulates into a state, 0 .. states-1. add: the samples first .. first + count - 1, data
 * [coil][count], coil_stride samples between coils. Each sample comes once per begin, in any order.
 */
void bs_exact_begin(struct bs_exact *plan, uint32_t state);
void bs_exact_add(struct bs_exact *plan, uint32_t state, uint64_t first, uint64_t count,
		  const float *data, size_t coil_stride);
void bs_exact_finish(struct bs_exact *plan, uint32_t state, float *image);

/*
 * Computes as finish, not rounded to float: [coil][z][y][x] complex double for any precision; a
 * reference for tests.
 */
void bs_exact_finish_double(struct bs_exact *plan, uint32_t state, double *image);

/* Long sums call fn after each chunk with the share that is done, 0 .. 1; NULL: no calls. */
void bs_exact_progress(struct bs_exact *plan, void (*fn)(void *arg, double done), void *arg);

#endif
