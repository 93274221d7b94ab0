/*
 * gpu/calibrate/espirit.h - ESPIRiT: coil maps from a fully sampled block of k-space
 *
 * block   in  [coil][z][y][x] complex float, the samples around k = 0, which has index size/2 on
 *             each axis; exp(+i2pi k n / field) takes them to voxel n
 * maps    out [set][coil][z][y][x] complex float, the largest eigenvectors of each voxel, of
 *             length 1 over the coils; 0 where the eigenvalue is less than crop
 * values  out [set][z][y][x] float, the eigenvalues, 0 .. 1; NULL: not wanted
 * Voxels n = -matrix/2 .. (halves truncated), whatever lies between: matrix = field is the whole
 * field of view, a smaller matrix its middle, at the same voxel size.
 *
 * The kernels are the eigenvectors of the calibration matrix's Gram matrix (of rows or of columns,
 * whichever is smaller; in double precision, one thread) whose eigenvalue is more than threshold of
 * the largest. A voxel's matrix of coils x coils is the sum of their correlations, at 2 kernel - 1
 * lags an axis: summed directly, which is what zero-filling and an FFT would give. It and its
 * eigenvectors (direct, gpu/calibrate/eigen_loops.h) are in single precision: 5e-6 of a map where
 * the eigenvalues lie apart.
 * Phase: in each voxel the map's combination with the first principal component of the block's
 * coils is real and positive. That combination is the image of one virtual coil, so the phase is
 * smooth but where that coil sees nothing. Of the component, the largest element is real.
 *
 * need -> plan -> run* -> close. Only plan and close allocate. One caller; the same bytes for any
 * team. Errors: BS_ERR_CONFIG (a spec), BS_ERR_SIZE (a block), BS_ERR_VALUE (of zeros, or not
 * finite).
 * CUDA twin: espirit_cuda.h. Tests: test/unit/gpu/calibrate/test_espirit.c,
 * test/twin/twin_espirit.c
 * Source: Uecker et al., Magn Reson Med 2014;71:990-1001.
 */
#ifndef BS_GPU_CALIBRATE_ESPIRIT_H
#define BS_GPU_CALIBRATE_ESPIRIT_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

#define BS_ESPIRIT_KERNEL_MAX 16u
#define BS_ESPIRIT_SETS_MAX   4u
/* rows of the Gram matrix: the matrix and its workspace take 256 MiB each */
#define BS_ESPIRIT_GRAM_MAX 4096u

struct bs_espirit_spec {
	uint32_t coils, sets;
	uint32_t block[3];            /* samples along x, y, z of the largest block */
	uint32_t kernel[3];           /* samples x y z; 1 on an axis where the block is 1 */
	uint32_t field[3], matrix[3]; /* voxels of the field of view, and voxels of the maps */
	/* share of the largest eigenvalue above which a kernel is kept: 0.001 */
	double threshold;
	double crop; /* eigenvalue below which maps are 0: 0.8 */
};

struct bs_espirit;

int bs_espirit_need(const struct bs_espirit_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_espirit_plan(struct bs_espirit **plan, const struct bs_espirit_spec *spec,
		    struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
/* Computes maps of a block. size: its samples along x, y, z, from the kernel's size
 * to the spec's block. */
int bs_espirit_run(struct bs_espirit *plan, const uint32_t size[3], const float *block, float *maps,
		   float *values, struct bs_fail *why);
/*
 * The parts of run. reference: only the virtual coil whose phase maps refer to. calibrate: that and
 * the kernels' correlations of a block. The last part makes the maps from both. lags: for a twin
 * that does the last part, or the last two, elsewhere; its arrays belong to the plan.
 */
int bs_espirit_reference(struct bs_espirit *plan, const uint32_t size[3], const float *block,
			 struct bs_fail *why);
int bs_espirit_calibrate(struct bs_espirit *plan, const uint32_t size[3], const float *block,
			 struct bs_fail *why);
void bs_espirit_maps(struct bs_espirit *plan, float *maps, float *values);
struct bs_espirit_lags {
	const struct bs_espirit_spec *spec;
	/* [lag z][lag y][re, im][pair of coils][lag x]; line: floats in a real or imaginary part */
	const float *corr;
	const float *reference;         /* phase reference [coil] complex */
	const float *phase_x;           /* [lag 1 ..][cos, sin][x], phase_stride to a row */
	const float *phase_y, *phase_z; /* phases [voxel][lag] complex */
	uint32_t line, phase_stride;
};
void bs_espirit_lags(const struct bs_espirit *plan, struct bs_espirit_lags *lags);
void bs_espirit_close(struct bs_espirit *plan);

BS_C_END
#endif
