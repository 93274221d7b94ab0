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
 * Slices at once (spec.group): z are the slices of a group, which the same lines hold. There is one
 * partition, and line ky has slice b with the phase exp(i 2pi cycles_b ky), k = 0 at size/2:
 * (sum_c S_cb^H F^H P_b^H M sum_b' P_b' F S_cb' + lambda) rho = sum_c S_cb^H F^H P_b^H M d_c.
 *
 * maps        [set][coil][z][y][x] complex float
 * lines       [kz][ky], not 0: it came; k = 0 at index size/2 of an axis
 *             of slices at once [coil][y][x], each slice's `group` values behind the one before
 * coil_images [coil][z][y][x] complex float: F^H M d_c, cropped (bs_cart_finish);
 *             of slices at once [coil][encoded y][x]
 * rho         [set][z][y][x] complex float
 *
 * need -> plan -> { solve | begin | apply }* -> close. w is the caller's and must live as long;
 * begin copies maps and lines, so that those of another slice are only another argument. Beside the
 * arena plan allocates the tables of the transforms and one vector, as long as W has rows; the rest
 * allocates nothing. Sums run in the order of the coils: the same bytes for any number of threads.
 * One caller. Twins: unfold.c with unfold_simd.c (host), unfold.cu (CUDA, unfold_cuda.h).
 * Tests: test/unit/gpu/test_unfold.c, test/replay/scan/left_out.sh
 * Sources: Pruessmann et al., Magn Reson Med 2001;46:638-651; Uecker et al., Magn Reson Med
 * 2014;71:990-1001 (sets of maps); Breuer et al., Magn Reson Med 2006;55:549-556 (CAIPIRINHA);
 * Breuer et al., Magn Reson Med 2005;53:684-691 (slices at once).
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
	/* slices at once: values from one slice's maps to the next one's; 0: z are partitions */
	uint64_t group;
	double l2; /* weight of the identity beside R */
};

/* The slices that a group's lines hold. */
struct bs_unfold_group {
	uint32_t from, to;    /* slices from .. to-1 of the group; rho of the others is 0 */
	const double *cycles; /* [slice] phase from a line to the next */
};

struct bs_unfold;

int bs_unfold_need(const struct bs_unfold_spec *spec, struct bs_need *need, struct bs_fail *why);
/* w NULL: R is the identity. BS_ERR_SIZE: the columns of W differ from the voxels of an image. */
int bs_unfold_plan(struct bs_unfold **plan, const struct bs_unfold_spec *spec,
		   const struct bs_csr *w, struct bs_arena *arena, struct bs_team *team,
		   struct bs_fail *why);
void bs_unfold_close(struct bs_unfold *plan);
/* As bs_ls_hold (gpu/solve/ls.h). */
void bs_unfold_use_w(struct bs_unfold *plan, bool use);

/* For slices at once, before each solve or begin. */
void bs_unfold_hold(struct bs_unfold *plan, const struct bs_unfold_group *group);
/*
 * Writes the phases of a group's slices [slice][ky], complex, k = 0 at index `middle`: 0 where the
 * slice is not in the line, or the line has not come. Host and CUDA share it.
 */
void bs_unfold_phases(float *phases, const struct bs_unfold_spec *spec,
		      const struct bs_unfold_group *group, const uint8_t *lines, uint32_t middle);
/*
 * Takes maps and lines for what follows, and returns the right-hand side, sum_c S_c^H of the coils'
 * images: valid until the next call. solve does so by itself.
 */
const float *bs_unfold_begin(struct bs_unfold *plan, const float *maps, const uint8_t *lines,
			     const float *coil_images);
void bs_unfold_solve(struct bs_unfold *plan, const float *maps, const uint8_t *lines,
		     const float *coil_images, float *rho, const struct bs_pcg_stop *stop,
		     struct bs_pcg_result *result);
/* Computes out = (sum_c S_c^H F^H M F S_c + lambda R + l2) in, with the maps and lines
 * taken last. */
void bs_unfold_apply(struct bs_unfold *plan, const float *in, float *out);

BS_C_END
#endif
