/*
 * gpu/toeplitz/toeplitz.h - F^H D F by FFT on a grid of twice the size, and its sum over coils
 *
 * apply:  out[c](n) = sum_n' Q(n - n') in[c](n')
 * sense:  out(n) = sum_c conj(S_c(n)) sum_n' Q(n - n') S_c(n') in(n')
 * in, out [coil][z][y][x] complex float (sense: one image); maps S [coil][z][y][x] complex float;
 * q as in gpu/toeplitz/q.h. in and out may be the same array for apply, not for sense.
 *
 * Pruned: along z only the Ny x Nx lines that hold voxels are padded and transformed; each plane
 * of the padded z axis is then transformed along y and x, multiplied by Q's spectrum, and
 * transformed back while it is in the cache, and only what is wanted is kept, so the padded grid
 * never exists. The spectrum is real because Q is Hermitian. The padded size of an axis is the
 * cheapest product of 2, 3 and 5 that is at least 2N - 1 (gpu/fft/lines.h): any N is legal.
 * The sum over coils runs in the order of the coils; results do not depend on the team.
 *
 * need -> plan -> { apply | sense }* -> close. plan takes from the arena and may allocate beside
 * it (freed before it returns); apply and sense allocate nothing. One caller.
 * Twins: toeplitz.c with toeplitz_simd.c (host), toeplitz.cu (CUDA).
 * Test: test/unit/gpu/test_toeplitz.c
 * Sources: Stone et al., J Parallel Distrib Comput 2008;68:1307-1318; Wajer & Pruessmann, ISMRM
 * 2001:767 (Q in place of gridding); Chan & Ng, SIAM Rev 1996;38:427-482 (Toeplitz by FFT).
 */
#ifndef BS_GPU_TOEPLITZ_TOEPLITZ_H
#define BS_GPU_TOEPLITZ_TOEPLITZ_H

#include <stdbool.h>

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

struct bs_toeplitz_spec {
	uint32_t dims;      /* number of dimensions, 2 or 3 */
	uint32_t matrix[3]; /* size N of the image; 1 beyond dims */
	uint32_t coils;     /* most images of one apply, most coils of one sense */
	uint32_t turn;      /* CUDA, 3D: most coils done together; 0: as many as 4 GiB hold */
	/*
	 * CUDA, 2D: number of Q's, each for an equal part of the coils of an apply, in order;
	 * 0: one
	 */
	uint32_t operators;
	bool apart; /* CUDA, 3D: y and z have passes of their own wherever they are */
};

struct bs_toeplitz;

int bs_toeplitz_need(const struct bs_toeplitz_spec *spec, struct bs_need *need,
		     struct bs_fail *why);
int bs_toeplitz_plan(struct bs_toeplitz **plan, const struct bs_toeplitz_spec *spec, const float *q,
		     struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_toeplitz_close(struct bs_toeplitz *plan);

void bs_toeplitz_apply(struct bs_toeplitz *plan, uint32_t coils, const float *in, float *out);
void bs_toeplitz_sense(struct bs_toeplitz *plan, uint32_t coils, const float *maps, const float *in,
		       float *out);

BS_C_END
#endif
