/*
 * gpu/toeplitz/toeplitz_simd.h - the passes of toeplitz.c, built once for each instruction set
 *
 * A block is [element][re lanes | im lanes] float: lines along one axis, neighbors in x in the
 * lanes. work: three blocks of the longest axis, the caller's alone. Strides: complex values in
 * images, floats in blocks. n: voxels of the axis; width: lanes that hold voxels.
 */
#ifndef BS_GPU_TOEPLITZ_TOEPLITZ_SIMD_H
#define BS_GPU_TOEPLITZ_TOEPLITZ_SIMD_H

#include <stdbool.h>

#include "gpu/device/isa.h"
#include "gpu/fft/lines.h"

struct bs_toeplitz_work {
	float *block[3];
};

/* Lines of an image, side by side, and of a map that they are multiplied by. */
struct bs_toeplitz_lines {
	const float *map;  /* NULL: there is none */
	size_t stride;     /* complex values from one of a line's voxels to the next */
	uint32_t n, width; /* voxels of a line; lines */
};

struct bs_toeplitz_kernels {
	uint32_t lanes;
	/* Reads lines of the image, pads and transforms them forward, writes to `to`. */
	void (*lines_in)(const struct bs_line *l, const float *image,
			 const struct bs_toeplitz_lines *of, float *to,
			 const struct bs_toeplitz_work *w);
	/*
	 * Transforms lines of `from` by the inverse, crops them, writes to the image (times conj
	 * map); add: adds to the image.
	 */
	void (*lines_out)(const struct bs_line *l, const float *from, float *image,
			  const struct bs_toeplitz_lines *of, bool add,
			  const struct bs_toeplitz_work *w);
	/*
	 * middle_in: as lines_in, from block to block; elements of `from` are stride floats apart.
	 * middle_out: the way back.
	 */
	void (*middle_in)(const struct bs_line *l, const float *from, size_t stride, uint32_t n,
			  float *to, const struct bs_toeplitz_work *w);
	void (*middle_out)(const struct bs_line *l, const float *from, float *to, size_t stride,
			   uint32_t n, const struct bs_toeplitz_work *w);
	/*
	 * Along x: takes `lanes` neighboring elements of the blocks at p, step floats apart, n
	 * voxels in x; transforms them forward, multiplies by spectrum [x][lanes], transforms back
	 * and crops; in place.
	 */
	void (*cross)(const struct bs_line *l, float *p, size_t step, uint32_t n,
		      const float *spectrum, const struct bs_toeplitz_work *w);
};

BS_ISA_DECLARE(const struct bs_toeplitz_kernels, bs_toeplitz_kernels);

#endif
