/*
 * gpu/image/unfold.h - Cartesian SENSE: the image whose coils' lines are those that came
 *
 * (sum_c S_c^H F^H M F S_c + lambda R + l2) rho = sum_c S_c^H F^H M d_c,  R = W^H W, or 1
 * F is the unitary transform along y and z of the encoded grid, M keeps the lines that came. x is
 * sampled in full: the lines are transformed along it as they arrive (gpu/image/cartesian.h), and
 * only y and z are left, for each column of x by itself. lambda means what it does in
 * gpu/solve/ls.h: the scale of BART's pics -r.
 * Any lines will do: regular, shifted from partition to partition (CAIPI), irregular. Two sets of
 * maps (soft SENSE) explain a voxel by two images: rho and R have one of each set.
 *
 * maps        [set][coil][z][y][x] complex float
 * lines       [kz][ky], not 0: it came; k = 0 at index size/2 of an axis
 * coil_images [coil][z][y][x] complex float: F^H M d_c, cropped (bs_cart_finish)
 * rho         [set][z][y][x] complex float
 *
 * need -> plan -> { solve | apply }* -> close. w is the caller's and must live as long; solve
 * copies maps and lines, so that those of another slice are only another argument. Beside the arena
 * plan allocates the tables of the transforms and one vector, as long as W has rows; solve and
 * apply allocate nothing. Sums run in the order of the coils: the same bytes for any number of
 * threads.
 * One caller. Twins: unfold.c with unfold_simd.c (host), unfold.cu (CUDA, unfold_cuda.h).
 * Tests: test/unit/gpu/test_unfold.c, test/replay/scan/left_out.sh
 * Sources: Pruessmann et al., Magn Reson Med 2001;46:638-651; Uecker et al., Magn Reson Med
 * 2014;71:990-1001 (sets of maps); Breuer et al., Magn Reson Med 2006;55:549-556 (CAIPIRINHA).
 */
#ifndef BS_GPU_IMAGE_UNFOLD_H
#define BS_GPU_IMAGE_UNFOLD_H

#include "core/solve/csr.h"
#include "core/solve/pcg.h"

BS_C_BEGIN

#define BS_UNFOLD_SETS_MAX 2u

struct bs_unfold_spec {
	uint32_t encoded[2]; /* numbers of lines and of partitions */
	/* voxels along x, y, z; y and z have at most the encoded lines and partitions */
	uint32_t matrix[3];
	uint32_t coils, sets;
	uint32_t iterations; /* most iterations of any solve */
	double lambda;
	double l2; /* weight of the identity beside R */
};

struct bs_unfold;

int bs_unfold_need(const struct bs_unfold_spec *spec, struct bs_need *need, struct bs_fail *why);
/* w NULL: R is the identity. BS_ERR_SIZE: the columns of W differ from the voxels of an image. */
int bs_unfold_plan(struct bs_unfold **plan, const struct bs_unfold_spec *spec,
		   const struct bs_csr *w, struct bs_arena *arena, struct bs_team *team,
		   struct bs_fail *why);
void bs_unfold_close(struct bs_unfold *plan);
/* As bs_ls_hold (gpu/solve/ls.h). */
void bs_unfold_hold(struct bs_unfold *plan, bool hold);

void bs_unfold_solve(struct bs_unfold *plan, const float *maps, const uint8_t *lines,
		     const float *coil_images, float *rho, const struct bs_pcg_stop *stop,
		     struct bs_pcg_result *result);
/* Computes out = (sum_c S_c^H F^H M F S_c + lambda R + l2) in, with the maps and lines
 * of the last solve. */
void bs_unfold_apply(struct bs_unfold *plan, const float *in, float *out);

BS_C_END
#endif
