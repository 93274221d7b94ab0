/*
 * gpu/penalty/penalty.h - the priors of the proximal solver: lambda times
 *
 * wavelet    sum |c| over c = W x of each image, W the orthonormal periodic Daubechies transform
 *            with 4 taps; an axis is halved while its length is at least min(n, 16) and even;
 *            every coefficient is penalized. shifts: the step is the mean of the steps on two
 *            grids, others in each iteration, from one fixed sequence: no grid leaves seams
 * tv         sum (sum_d |x(n) - x(n - e_d)|^2)^1/2 of each image, isotropic, around its rims
 * tv_frames  sum |x_t - x_{t-1}| from the second frame on; tv_cycle: from the first on, against the
 *            last
 * low_rank   sum of the singular values of each block's [voxels][frames]; a fixed grid of blocks
 *            from voxel 0, smaller at the far rim
 * w          sum |W x|, W in sparse rows (core/solve/csr.h)
 *
 * |.| is the complex modulus. Images are [image][z][y][x] complex float, and an image is a frame or
 * what one set of maps explains. Wavelets and low rank have exact proximal steps; the others
 * iterate on their dual, from where the last step ended. A row of functions each: wavelet.c,
 * dual.c, lowrank.c; rows.h.
 *
 * Twins: wavelet.c, dual.c, lowrank.c (host), the .cu beside each (CUDA, penalty_cuda.h).
 * need -> plan -> { lambda | penalty's functions }* -> close. w is the caller's and must live as
 * long. After plan nothing is allocated. The same bytes for any number of threads. One caller.
 * Tests: test/unit/gpu/penalty/test_penalty.c, test_priors.c
 * Sources: Daubechies, Comm Pure Appl Math 1988;41:909-996; Lustig et al., Magn Reson Med
 * 2007;58:1182-1195; Figueiredo & Nowak, IEEE Trans Image Process 2003;12:906-916 (shifts); Beck &
 * Teboulle, IEEE Trans Image Process 2009;18:2419-2434 (dual of total variation); Zhang et al.,
 * Magn Reson Med 2015;73:655-661 (locally low rank).
 */
#ifndef BS_GPU_PENALTY_PENALTY_H
#define BS_GPU_PENALTY_PENALTY_H

#include "core/protocol.h"
#include "core/solve/csr.h"
#include "core/solve/prox.h"

BS_C_BEGIN

#define BS_PENALTY_IMAGES_MAX 512u
#define BS_PENALTY_BLOCK_MAX  32u

struct bs_penalty_spec {
	enum bs_prior kind; /* not BS_PRIOR_NONE */
	uint32_t matrix[3]; /* voxels x, y, z */
	uint32_t images;    /* number of images, or of frames */
	uint32_t block; /* low_rank: voxels of a block along each axis, 1 .. BS_PENALTY_BLOCK_MAX */
	bool shifts;    /* wavelet: a grid of its own for each iteration */
};

struct bs_penalty_plan;

/* What w takes is not in need: no protocol says how many rows W has; plan allocates it. */
int bs_penalty_need(const struct bs_penalty_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_penalty_plan(struct bs_penalty_plan **plan, const struct bs_penalty_spec *spec,
		    const struct bs_csr *w, struct bs_arena *arena, struct bs_team *team,
		    struct bs_fail *why);
void bs_penalty_close(struct bs_penalty_plan *plan);
/* Sets the weight of the prior; 0 before the first call. */
void bs_penalty_lambda(struct bs_penalty_plan *plan, double lambda);
const struct bs_penalty *bs_penalty_get(const struct bs_penalty_plan *plan);
/* Puts an axis of one voxel behind the others: in front it would leave nothing side by side. */
static inline void bs_penalty_turn(struct bs_penalty_spec *s)
{
	for (int i = 0; i < 2 && s->matrix[0] == 1; i++) {
		s->matrix[0] = s->matrix[1];
		s->matrix[1] = s->matrix[2];
		s->matrix[2] = 1;
	}
}
/* Halvings of an axis of n voxels. */
uint32_t bs_penalty_levels(uint32_t n);
/*
 * The shift, in voxels, of a grid along an axis that is halved `levels` times. Iteration i has the
 * grids 2 i and 2 i + 1.
 */
uint32_t bs_penalty_shift(uint32_t grid, uint32_t axis, uint32_t levels);

BS_C_END
#endif
