/* gpu/image/unfold_simd.c - see unfold_simd.h */
#include "gpu/image/unfold_simd.h"

#include "gpu/device/simd.h"

#define CELL (2 * VW) /* floats in a row: real and imaginary parts of all lanes */

INLINE void times_rows(float *out, const float *x, const float *map, size_t rows, bool add)
{
	for (size_t i = 0; i < rows; i++, out += CELL, x += CELL, map += CELL) {
		const vf re = *(const vf *)x;
		const vf im = *(const vf *)(x + VW);
		const vf s = *(const vf *)map;
		const vf t = *(const vf *)(map + VW);
		const vf zero = { 0 };

		*(vf *)out = (add ? *(const vf *)out : zero) + s * re - t * im;
		*(vf *)(out + VW) = (add ? *(const vf *)(out + VW) : zero) + s * im + t * re;
	}
}

static void times(float *out, const float *x, const float *map, size_t rows, bool add)
{
	if (add)
		times_rows(out, x, map, rows, true);
	else
		times_rows(out, x, map, rows, false);
}

static void gather(float *sum, const float *in, const float *map, size_t rows)
{
	for (size_t i = 0; i < rows; i++, sum += CELL, in += CELL, map += CELL) {
		const vf re = *(const vf *)in;
		const vf im = *(const vf *)(in + VW);
		const vf s = *(const vf *)map;
		const vf t = *(const vf *)(map + VW);

		*(vf *)sum += s * re + t * im;
		*(vf *)(sum + VW) += s * im - t * re;
	}
}

static void mix(float *out, float a, const float *x, float b, size_t rows)
{
	for (size_t i = 0; i < 2 * rows; i++)
		*(vf *)(out + i * VW) = a * *(vf *)(out + i * VW) + b * *(const vf *)(x + i * VW);
}

static void cross(float *rows, size_t plane, const float *phases, uint32_t slices, uint32_t lines,
		  bool add)
{
	for (uint32_t ky = 0; ky < lines; ky++, rows += CELL, phases += 2) {
		vf re = { 0 };
		vf im = { 0 };

		for (uint32_t b = 0; b < (add ? slices : 1); b++) {
			const float *r = rows + b * plane;
			const float c = add ? phases[2 * (size_t)b * lines] : 1.0f;
			const float s = add ? phases[2 * (size_t)b * lines + 1] : 0.0f;

			re += c * *(const vf *)r - s * *(const vf *)(r + VW);
			im += c * *(const vf *)(r + VW) + s * *(const vf *)r;
		}
		for (uint32_t b = 0; b < slices; b++) {
			const float c = phases[2 * (size_t)b * lines];
			const float s = phases[2 * (size_t)b * lines + 1];

			*(vf *)(rows + b * plane) = c * re + s * im;
			*(vf *)(rows + b * plane + VW) = c * im - s * re;
		}
	}
}

static void beside(float *out, const float *coils, size_t rows, uint32_t many)
{
	for (uint32_t l = 0; l < VW; l++) {
		const float *from = coils + 2 * rows * (l < many ? l : 0);

		for (size_t i = 0; i < rows; i++) {
			out[i * CELL + l] = l < many ? from[2 * i] : 0.0f;
			out[i * CELL + VW + l] = l < many ? from[2 * i + 1] : 0.0f;
		}
	}
}

static void spread(float *out, const float *values, size_t rows)
{
	const vf zero = { 0 };

	for (size_t i = 0; i < 2 * rows; i++)
		*(vf *)(out + i * VW) = values[i] + zero;
}

/* Adds up the lanes of VW vectors: the sums are the lanes of one. */
INLINE vf sums_of(const float *in)
{
	vf v[VW];

	UNROLL
	for (int i = 0; i < VW; i++)
		v[i] = *(const vf *)(in + (ptrdiff_t)i * VW);
	UNROLL
	for (int n = VW / 2; n > 0; n /= 2) {
		UNROLL
		for (int i = 0; i < n; i++)
			v[i] = EVEN(v[2 * i], v[2 * i + 1]) + ODD(v[2 * i], v[2 * i + 1]);
	}
	return v[0];
}

static void collect(float *values, const float *in, size_t rows)
{
	const size_t all = 2 * rows;
	const size_t whole = all - all % VW;

	for (size_t i = 0; i < whole; i += VW)
		storeu(values + i, sums_of(in + i * VW));
	for (size_t i = whole; i < all; i++) {
		values[i] = 0.0f;
		for (size_t l = 0; l < VW; l++)
			values[i] += in[i * VW + l];
	}
}

static void move(float *to, size_t to_step, const float *from, size_t from_step, size_t rows)
{
	for (size_t i = 0; i < rows; i++, to += to_step, from += from_step) {
		const vf re = *(const vf *)from;
		const vf im = *(const vf *)(from + VW);

		*(vf *)to = re;
		*(vf *)(to + VW) = im;
	}
}

static void keep(float *rows, const uint8_t *came, size_t step, uint32_t lines)
{
	const vf zero = { 0 };

	for (uint32_t i = 0; i < lines; i++, rows += CELL, came += step)
		if (*came == 0) {
			*(vf *)rows = zero;
			*(vf *)(rows + VW) = zero;
		}
}

const struct bs_unfold_kernels BS_ISA_NAME(bs_unfold_kernels) = { times,   gather, mix,
								  cross,   beside, spread,
								  collect, move,   keep };
