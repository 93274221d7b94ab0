/*
 * gpu/grappa/grappa_simd.h - the inner loops of GRAPPA, built once per instruction set
 */
#ifndef BS_GPU_GRAPPA_GRAPPA_SIMD_H
#define BS_GPU_GRAPPA_GRAPPA_SIMD_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "gpu/device/isa.h"

#define BS_GRAPPA_COLUMNS 16u /* columns of a block, which fill works on at once */
#define BS_GRAPPA_PAIR    2u  /* coils in a block of products */
#define BS_GRAPPA_WAVES   6u  /* most waves of add */

/* Lines that are made of others. Where lines start is in complex values, as is coil_step. */
struct bs_filling {
	const float *weights; /* expanded */
	uint32_t sources, coils, count;
	size_t coil_step;
	const uint32_t *at, *from; /* [count], [count][sources] */
};

struct bs_grappa_kernels {
	/*
	 * to[2 i + j][re, im][x] += sign times the sum over lines of conj(a_i) b_j at each of n
	 * columns, for 2 x 2 coils. a and b: real parts; imaginary parts lie imag floats further,
	 * the second coil coil floats, the next line line floats. n: a multiple of 16.
	 */
	void (*products)(const float *a, const float *b, size_t imag, size_t coil, size_t line,
			 uint32_t lines, uint32_t n, double sign, double *to);
	/*
	 * to[lag][2 i + j] complex = the sum over columns of such products times a lag's wave
	 * [re, im][x].
	 */
	void (*lags)(const double *product, uint32_t n, const double *wave, uint32_t count,
		     double *to);
	/* to[re, im][i] += sign conj(a) b[i]; imaginary parts of to lie step doubles further. */
	void (*outer)(const float *a, const float *b, size_t imag, uint32_t n, double sign,
		      double *to, size_t step);
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

/* Floats of a wave: real parts of whole blocks of columns, each twice; then imaginary parts. */
static inline size_t bs_grappa_wave_floats(uint32_t columns)
{
	return (size_t)4 * ((columns + BS_GRAPPA_COLUMNS - 1) / BS_GRAPPA_COLUMNS) *
	       BS_GRAPPA_COLUMNS;
}

/* Makes the wave scale exp(-i2pi k n / columns), n = x - columns / 2 at column x; 0 behind them. */
static inline void bs_grappa_wave(float *to, uint32_t columns, int k, double scale)
{
	float *im = to + bs_grappa_wave_floats(columns) / 2;

	memset(to, 0, bs_grappa_wave_floats(columns) * sizeof(*to));
	for (uint32_t x = 0; x < columns; x++) {
		const int n = (int)x - (int)columns / 2;
		const double turn = -6.28318530717958647692 * (k * n % (int)columns) / columns;

		to[2 * x] = to[2 * x + 1] = (float)(scale * cos(turn));
		im[2 * x] = im[2 * x + 1] = (float)(scale * sin(turn));
	}
}

#endif
