/*
 * gpu/grappa/grappa.h - lines of k-space that were not measured, from those that were (GRAPPA)
 *
 * A missing line is the sum over its neighborhood: the measured lines inside a window of
 * kernel[1] x kernel[2] lines (y, z) around it, of which the `sources` nearest count, all coils,
 * kernel[0] samples along the readout. Kernels are odd and count places, measured or not: 5 x 9 is
 * two samples and four lines to each side. Every distinct neighborhood has weights of its own, so
 * any pattern will do: regular, with CAIPIRINHA shifts, irregular, with calibration lines inside.
 *
 * weights = (S^H S + l I)^-1 S^H T, l = lambda ||S^H S||_F / n, n = sources x kernel[0] x coils,
 * in double precision: S and T are the neighborhoods and centers at every place of the calibration
 * lines, which count as zeros outside. They are kept for each set (a slice) until its calibration
 * lines change. by_noise: l is at least twice what the noise adds to the diagonal of
 * S^H S (gram.h): once for these lines, once for those that the weights are applied to.
 *
 * They are applied in hybrid space: the readout x is an image already, cropped to `columns`, where
 * the sum along it is a product. The kernel's samples are those of that field of view (calibration
 * lines are cropped alike, readout oversampling is gone). Samples so near an end of the readout
 * that the kernel would leave it have weights of their own, for the part that does not.
 * Measured lines stay as they are, and so does a line without a measured one in its window.
 *
 * hybrid    [coil][line][x] complex float, x = n + columns / 2 (n as in gpu/image/cartesian.h)
 * have      [kz][ky] bytes, indices from 0: 1 where a line was measured, 0 where it is to be made
 *           (neighbors.h: BS_LINE_LEFT)
 * The same bytes for any number of threads. need -> plan -> { prepare, fill }* -> close; only plan
 * and close allocate. One caller.
 * Twins: grappa.c (host), grappa.cu (CUDA: fill; grappa_cuda.h).
 * Tests: test/unit/gpu/calibrate/test_grappa.c, test/twin/twin_grappa.c
 * Sources: Griswold et al., Magn Reson Med 2002;47:1202-1210; Breuer et al., Magn Reson Med
 * 2006;55:549-556 (CAIPIRINHA); Brau et al., Magn Reson Med 2008;59:382-395 (hybrid space).
 */
#ifndef BS_GPU_GRAPPA_GRAPPA_H
#define BS_GPU_GRAPPA_GRAPPA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"
#include "gpu/grappa/neighbors.h"

BS_C_BEGIN

#define BS_GRAPPA_KERNEL_X 7u /* most samples of the kernel along the readout */

struct bs_grappa_spec {
	/* size of the k-space grid along x, y, z; x with its readout oversampling */
	uint32_t encoded[3];
	uint32_t columns; /* columns of hybrid space, at most encoded[0] */
	uint32_t coils;
	/* samples and lines of the kernel along x, y, z, odd; z 1 in 2D; y x z at
	 * most BS_WINDOW_LINES */
	uint32_t kernel[3];
	uint32_t sources;       /* most lines of a neighborhood; 0: all of the window */
	uint32_t neighborhoods; /* most distinct neighborhoods of a set */
	uint32_t lines[2];      /* most calibration lines along y and z */
	uint32_t sets;          /* number of sets (slices), each with weights of its own */
	double lambda;
	bool by_noise;
};

/* Calibration lines, which fill a box: at [coil][z][y][x] complex; steps in complex values. */
struct bs_grappa_lines {
	const float *at;
	size_t coil_step, z_step, y_step;
	uint32_t lines[2]; /* number of lines of the box along y and z */
	uint64_t version;  /* number that changes whenever the lines have changed; never 0 */
};

/* Returns the number of lines of the grid, y x z. */
static inline uint64_t bs_grappa_lines_of(const struct bs_grappa_spec *s)
{
	return (uint64_t)s->encoded[1] * s->encoded[2];
}

struct bs_grappa;

int bs_grappa_need(const struct bs_grappa_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_grappa_plan(struct bs_grappa **plan, const struct bs_grappa_spec *spec,
		   struct bs_arena *arena, struct bs_team *team, struct bs_fail *why);
void bs_grappa_close(struct bs_grappa *plan);

/*
 * Finds the neighborhoods of a frame and makes the weights that its set lacks. BS_ERR_SIZE: more
 * distinct neighborhoods than the spec has room for, or too few calibration lines for the kernel;
 * BS_ERR_VALUE: the calibration lines (all zeros?) do not determine the weights.
 */
int bs_grappa_prepare(struct bs_grappa *plan, uint32_t set, const uint8_t *have,
		      const struct bs_grappa_lines *calibration, struct bs_fail *why);
/* Returns true when the last prepare made weights, because some were missing. */
bool bs_grappa_made(const struct bs_grappa *plan);
/*
 * Fills the missing lines of hybrid, after prepare. wrapped: line (ky, kz) stands at index (ky -
 * Ey/2) mod Ey + Ey ((kz - Ez/2) mod Ez), as in gpu/image/cartesian.c; else at ky + Ey kz.
 */
void bs_grappa_fill(struct bs_grappa *plan, float *hybrid, bool wrapped);

/*
 * neighbors: what prepare found. weights of a neighborhood, complex: [coil out][source][coil
 * in][x], then the same for each of kernel[0] / 2 * 2 samples at the ends, less the first (ends.h).
 */
const struct bs_neighbors *bs_grappa_neighbors(const struct bs_grappa *plan);
const float *bs_grappa_weights(const struct bs_grappa *plan, uint32_t neighborhood);

BS_C_END
#endif
