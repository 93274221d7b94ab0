/*
 * gpu/grappa/grappa_simd.h - the inner loops of GRAPPA, built once per instruction set
 */
#ifndef BS_GPU_GRAPPA_GRAPPA_SIMD_H
#define BS_GPU_GRAPPA_GRAPPA_SIMD_H

#include <stddef.h>
#include <stdint.h>

#include "gpu/device/isa.h"

#define BS_GRAPPA_COLUMNS 16u /* columns of a block, which fill works on at once */
#define BS_GRAPPA_PAIR    2u  /* coils in a block of correlate */

/* Lines that are made of others. Where lines start is in complex values, as is coil_step. */
struct bs_filling {
	const float *weights; /* expanded */
	uint32_t sources, coils, count;
	size_t coil_step;
	const uint32_t *at, *from; /* [count], [count][sources] */
};

struct bs_grappa_kernels {
	/*
	 * c[i][j] = sum over n samples of conj(a_i) b_j for 2 x 2 coils, to[(2 i + j) * 2] complex
	 * double. a and b: real parts; imaginary parts lie imag floats further, the second coil
	 * coil floats further. n: a multiple of 16.
	 */
	void (*correlate)(const float *a, const float *b, size_t imag, size_t coil, uint32_t n,
			  double *to);
	/*
	 * Expands the weights of one coil, w [inputs][taps] complex, to a block's columns: to
	 * [inputs][4 * BS_GRAPPA_COLUMNS], for fill alone. phase: the phase of the block's first
	 * column for tap 0, each number twice; imaginary parts lie half a step further, the next
	 * tap a step further.
	 */
	void (*expand)(const float *w, uint32_t inputs, uint32_t taps, const float *phase,
		       size_t step, float *to);
	/*
	 * Makes one coil of the missing lines, for width columns: the sum over sources and coils
	 * of weights times hybrid. hybrid: the block's first column of line 0 of coil 0; out: the
	 * same of the coil that is made.
	 */
	void (*fill)(const struct bs_filling *l, const float *hybrid, float *out, uint32_t width);
	/*
	 * Sums of a line times each of `count` waves, and their return: to[i] = sum over x of
	 * line[x] wave[i][x]; line[x] += sum over i of with[i] conj(wave[i][x]). wave: as `phase`
	 * of expand, the next wave a step further. floats: of the line, two a column.
	 */
	void (*dots)(const float *line, uint32_t floats, const float *wave, size_t step,
		     uint32_t count, float *to);
	void (*add)(float *line, uint32_t floats, const float *wave, size_t step, uint32_t count,
		    const float *with);
};

BS_ISA_DECLARE(const struct bs_grappa_kernels, bs_grappa_kernels);

#endif
