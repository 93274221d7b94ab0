/*
 * gpu/image/cartesian.h - Cartesian reconstruction: FFT of lines on the grid, cropped to the matrix
 *
 * image[c][n] = (Ex Ey Ez)^-1/2 sum d[c][k] exp(+i2pi (kx nx/Ex + ky ny/Ey + kz nz/Ez)),
 * k = -E/2 .. E/2-1, n = -N/2 .. N/2-1 (halves truncated), N <= E on each axis: what lies outside
 * (readout oversampling) is cropped. Lines that never come count as zeros (partial fields); a
 * readout shorter than Ex lacks its start (partial echo).
 *
 * Each line is transformed along x when it is added, so after the last one only y and z remain.
 * line: ky index + Ey * (kz index), indices from 0. image [coil][z][y][x] complex float.
 * need -> plan -> { begin, add*, finish }* -> close. Only plan and close allocate. One caller.
 * Twins: cartesian.c (host), cartesian.cu (CUDA). Test: test/unit/gpu/test_cartesian.c
 */
#ifndef BS_GPU_IMAGE_CARTESIAN_H
#define BS_GPU_IMAGE_CARTESIAN_H

#include "core/memory/arena.h"
#include "core/err.h"
#include "core/thread/team.h"

BS_C_BEGIN

struct bs_cart_spec {
	uint32_t encoded[3], matrix[3]; /* grid sizes E and N of the formula along x, y, z */
	uint32_t samples;               /* samples of a readout, at most encoded[0] */
	uint32_t coils;
	uint32_t states; /* number of frames open at once */
};

struct bs_cart;

int bs_cart_need(const struct bs_cart_spec *spec, struct bs_need *need, struct bs_fail *why);
int bs_cart_plan(struct bs_cart **plan, const struct bs_cart_spec *spec, struct bs_arena *arena,
		 struct bs_team *team, struct bs_fail *why);
void bs_cart_close(struct bs_cart *plan);
void bs_cart_begin(struct bs_cart *plan, uint32_t state);
/* Adds a readout. data: [coil][sample] complex with coil_stride samples between coils. */
void bs_cart_add(struct bs_cart *plan, uint32_t state, uint32_t line, const float *data,
		 size_t coil_stride);
/*
 * The state's hybrid space, until finish: [coil][kz][ky][x] complex, x as in the image. ky and kz
 * wrap: index j of an axis of E holds k = j below E - E/2, and j - E from there on. Lines that
 * never came are zeros.
 */
float *bs_cart_hybrid(struct bs_cart *plan, uint32_t state);
/* Makes the image and destroys the state: begin must follow. */
void bs_cart_finish(struct bs_cart *plan, uint32_t state, float *image);

BS_C_END
#endif
