/*
 * gpu/calibrate/along.h - coils mixed by a matrix for each place along the readout
 *
 * A readout of n samples, fully sampled along x, is transformed to its n places. Each place has a
 * matrix of its own (gpu/calibrate/compress.h, aligned), and the result is transformed back to
 * samples. Places are in the order of the image, with the center at n / 2. The constant phase and
 * scale between places and image voxels are left out, since the transform back removes them. data
 * and out are [coil][stride] complex float; matrix is [virtual][coils][place] complex float.
 * need -> plan -> { gram | mix }* -> close. Only plan and close allocate. One caller.
 * Source: Zhang et al., Magn Reson Med 2013;69:571. Test: test/unit/gpu/calibrate/test_compress.c
 */
#ifndef BS_GPU_CALIBRATE_ALONG_H
#define BS_GPU_CALIBRATE_ALONG_H

#include <stddef.h>
#include <stdint.h>

#include "core/err.h"
#include "core/memory/arena.h"

struct bs_along;

int bs_along_need(uint32_t n, uint32_t coils, struct bs_need *need, struct bs_fail *why);
int bs_along_plan(struct bs_along **plan, uint32_t n, uint32_t coils, struct bs_arena *arena,
		  struct bs_fail *why);
void bs_along_close(struct bs_along *plan);

/* Adds a readout to the Gram matrices gram [place][coils][coils] (core/study/gram.h). */
void bs_along_gram(struct bs_along *plan, double *gram, const float *data, size_t stride);
void bs_along_mix(struct bs_along *plan, float *out, size_t out_stride, const float *matrix,
		  uint32_t virtual_coils, const float *data, size_t stride);

/* Converts bs_compress_aligned's a [place][virtual][coils] to the matrix that mix takes. */
void bs_along_matrix(float *matrix, const double *a, uint32_t virtual_coils, uint32_t coils,
		     uint32_t n);

#endif
