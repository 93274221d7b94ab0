/*
 * gpu/fft/lines_loops.h - the transform of gpu/fft/lines.h, for the *_simd.c files that include it
 *
 * lines_forward, lines_inverse: src, dst, tmp are three different blocks of line->size elements;
 * the result is in dst, src is kept. used: elements of src from this one on are zero and not read
 * (but those up to size/2 must be present as zeros). wanted: elements of dst from this one on are
 * not computed. No scaling. The inverse, exp(+i...), exchanges real and imaginary parts on input
 * and output.
 */
#ifndef BS_GPU_FFT_LINES_LOOPS_H
#define BS_GPU_FFT_LINES_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "gpu/fft/lines.h"
#include "gpu/device/simd.h"

typedef float real;
typedef vf vr;
#define LANES       VW
#define PAIRS_FIRST 1
#include "gpu/fft/pass_loops.h"

/* Defines the passes of a radix with all legs, and the first and last passes
 * with half of the legs. */
#define PASSES(radix)                                                                              \
	static void pass##radix(const float *x, float *y, size_t m, size_t s, const float *factor, \
				size_t from, size_t to, bool half_in, bool half_out)               \
	{                                                                                          \
		if (half_in)                                                                       \
			pass(radix, radix / 2, radix, x, y, m, s, factor, from, to);               \
		else if (half_out)                                                                 \
			pass(radix, radix, radix / 2, x, y, m, s, factor, from, to);               \
		else                                                                               \
			pass(radix, radix, radix, x, y, m, s, factor, from, to);                   \
	}
PASSES(2)
PASSES(4)
PASSES(8)
#undef PASSES

static void pass3(const float *x, float *y, size_t m, size_t s, const float *factor, size_t from,
		  size_t to)
{
	pass(3, 3, 3, x, y, m, s, factor, from, to);
}

static void pass5(const float *x, float *y, size_t m, size_t s, const float *factor, size_t from,
		  size_t to)
{
	pass(5, 5, 5, x, y, m, s, factor, from, to);
}

/* Number of elements of src that a transform reads when the first `used` are not zero. */
INLINE uint32_t lines_read(const struct bs_line *l, uint32_t used)
{
	return l->passes > 1 && l->radix[0] % 2 == 0 && used <= l->size / 2 ? l->size / 2 : l->size;
}

static void lines_transform(const struct bs_line *l, const float *src, float *dst, float *tmp,
			    uint32_t used, uint32_t wanted, size_t exchange)
{
	const float *x = src;
	uint32_t n = l->size;
	uint32_t s = 1;

	for (uint32_t i = 0; i < l->passes; i++) {
		uint32_t radix = l->radix[i];
		float *y = (l->passes - 1 - i) % 2 == 0 ? dst : tmp;
		bool last = i + 1 == l->passes;
		size_t from = i == 0 ? exchange : 0;
		size_t to = last ? exchange : 0;
		bool half_in = i == 0 && !last && lines_read(l, used) < l->size;
		bool half_out = last && i != 0 && wanted <= l->size / 2;

		n /= radix;
		switch (radix) {
		case 2:
			pass2(x, y, n, s, l->factor[i], from, to, half_in, half_out);
			break;
		case 3:
			pass3(x, y, n, s, l->factor[i], from, to);
			break;
		case 4:
			pass4(x, y, n, s, l->factor[i], from, to, half_in, half_out);
			break;
		case 5:
			pass5(x, y, n, s, l->factor[i], from, to);
			break;
		default:
			pass8(x, y, n, s, l->factor[i], from, to, half_in, half_out);
		}
		x = y;
		s *= radix;
	}
}

INLINE void lines_forward(const struct bs_line *l, const float *src, float *dst, float *tmp,
			  uint32_t used, uint32_t wanted)
{
	lines_transform(l, src, dst, tmp, used, wanted, 0);
}

INLINE void lines_inverse(const struct bs_line *l, const float *src, float *dst, float *tmp,
			  uint32_t used, uint32_t wanted)
{
	lines_transform(l, src, dst, tmp, used, wanted, LANES);
}

/*
 * Transposes the square whose rows are LANES vectors. Each step rotates the bits of (row, lane) by
 * one; after as many steps as a lane number has bits, row and lane are exchanged.
 */
INLINE void transpose(vf *r)
{
#pragma GCC unroll 4
	for (int step = 1; step < LANES; step *= 2) {
		vf t[LANES];

#pragma GCC unroll 8
		for (int i = 0; i < LANES / 2; i++) {
			t[2 * i] = LOW(r[i], r[i + LANES / 2]);
			t[2 * i + 1] = HIGH(r[i], r[i + LANES / 2]);
		}
#pragma GCC unroll 16
		for (int i = 0; i < LANES; i++)
			r[i] = t[i];
	}
}

#endif
