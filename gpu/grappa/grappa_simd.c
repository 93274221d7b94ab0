/* gpu/grappa/grappa_simd.c - see grappa_simd.h */
#include "gpu/grappa/grappa_simd.h"

#include <string.h>

#include "gpu/device/simd.h"

#define HALF (VW / 2) /* doubles in a vector */

typedef float halves __attribute__((vector_size(4 * HALF), aligned(4), may_alias));
typedef double wide __attribute__((vector_size(4 * VW)));

INLINE wide widen(const float *p)
{
	return __builtin_convertvector(*(const halves *)p, wide);
}

INLINE double total(wide v)
{
	double sum = 0.0;

	for (int i = 0; i < HALF; i++)
		sum += v[i];
	return sum;
}

static void correlate(const float *a, const float *b, size_t imag, size_t coil, uint32_t n,
		      double *to)
{
	wide re[4] = { { 0 } };
	wide im[4] = { { 0 } };

	for (uint32_t x = 0; x < n; x += HALF) {
		wide ar[2] = { widen(a + x), widen(a + coil + x) };
		wide ai[2] = { widen(a + imag + x), widen(a + coil + imag + x) };
		wide br[2] = { widen(b + x), widen(b + coil + x) };
		wide bi[2] = { widen(b + imag + x), widen(b + coil + imag + x) };

		UNROLL
		for (int i = 0; i < 2; i++)
			UNROLL
		for (int j = 0; j < 2; j++) {
			re[2 * i + j] += ar[i] * br[j];
			re[2 * i + j] += ai[i] * bi[j];
			im[2 * i + j] += ar[i] * bi[j];
			im[2 * i + j] -= ai[i] * br[j];
		}
	}
	for (int p = 0; p < 4; p++) {
		to[2 * p] = total(re[p]);
		to[2 * p + 1] = total(im[p]);
	}
}

/* Vectors of a block, which is [input][vector][re VW | im VW], each number twice in a row. */
#define VECTORS (2 * BS_GRAPPA_COLUMNS / VW)

static void expand(const float *w, uint32_t inputs, uint32_t taps, const float *phase, size_t step,
		   float *to)
{
	for (uint32_t i = 0; i < inputs; i++, w += 2 * taps)
		for (uint32_t v = 0; v < VECTORS; v++, to += 2 * VW) {
			const float *p = phase + (size_t)v * VW;
			vf re = { 0 };
			vf im = { 0 };

			for (uint32_t t = 0; t < taps; t++, p += step) {
				vf c = loadu(p);
				vf s = loadu(p + step / 2);

				re += w[2 * t] * c - w[2 * t + 1] * s;
				im += w[2 * t] * s + w[2 * t + 1] * c;
			}
			storeu(to, re);
			storeu(to + VW, im);
		}
}

INLINE vf load_some(const float *p, uint32_t floats)
{
	float part[VW] = { 0 };

	memcpy(part, p, floats * sizeof(float));
	return loadu(part);
}

/* Multiplies a vector of complex numbers by i. */
INLINE vf times_i(vf v)
{
	float part[VW];
	float out[VW];

	storeu(part, v);
	UNROLL
	for (int i = 0; i < VW; i += 2) {
		out[i] = -part[i + 1];
		out[i + 1] = part[i];
	}
	return loadu(out);
}

/* Lines that share the loads of the weights. floats: VW, or what is left of the columns. */
#define LINES 4

KERNEL void fill_lines(const struct bs_filling *l, uint32_t first, const float *weights,
		       const float *hybrid, float *out, uint32_t lines, uint32_t floats)
{
	const uint32_t *from = l->from + (size_t)first * l->sources;
	const uint32_t sources = l->sources;
	const uint32_t coils = l->coils;
	const size_t coil_step = l->coil_step;
	vf straight[LINES] = { { 0 } };
	vf crossed[LINES] = { { 0 } };

	for (uint32_t s = 0; s < sources; s++) {
		const float *line[LINES];

		for (uint32_t h = 0; h < lines; h++)
			line[h] = hybrid + 2 * (size_t)from[h * sources + s];
		for (uint32_t c = 0; c < coils; c++) {
			vf re = loadu(weights);
			vf im = loadu(weights + VW);

			UNROLL
			for (uint32_t h = 0; h < lines; h++) {
				const float *p = line[h] + 2 * c * coil_step;
				vf d = floats == VW ? loadu(p) : load_some(p, floats);

				straight[h] += re * d;
				crossed[h] += im * d;
			}
			weights += 4 * BS_GRAPPA_COLUMNS;
		}
	}
	for (uint32_t h = 0; h < lines; h++) {
		vf sum = straight[h] + times_i(crossed[h]);

		memcpy(out + 2 * (size_t)l->at[first + h], &sum, floats * sizeof(float));
	}
}

static void fill(const struct bs_filling *l, const float *hybrid, float *out, uint32_t width)
{
	for (uint32_t v = 0; v < VECTORS && v * VW < 2 * width; v++) {
		const uint32_t left = 2 * width - v * VW;
		const float *w = l->weights + (size_t)v * 2 * VW;
		const float *in = hybrid + (size_t)v * VW;
		float *to = out + (size_t)v * VW;
		uint32_t h = 0;

		for (; left >= VW && h + LINES <= l->count; h += LINES)
			fill_lines(l, h, w, in, to, LINES, VW);
		for (; h < l->count; h++)
			fill_lines(l, h, w, in, to, 1, left < VW ? left : VW);
	}
}

static void dots(const float *line, uint32_t floats, const float *wave, size_t step, uint32_t count,
		 float *to)
{
	for (uint32_t i = 0; i < count; i++, wave += step, to += 2) {
		vf straight = { 0 };
		vf crossed = { 0 };

		for (uint32_t x = 0; x < floats; x += VW) {
			const uint32_t left = floats - x;
			vf d = left < VW ? load_some(line + x, left) : loadu(line + x);

			straight += d * loadu(wave + x);
			crossed += d * loadu(wave + step / 2 + x);
		}
		to[0] = to[1] = 0.0f;
		for (int l = 0; l < VW; l += 2) {
			to[0] += straight[l] - crossed[l + 1];
			to[1] += straight[l + 1] + crossed[l];
		}
	}
}

static void add(float *line, uint32_t floats, const float *wave, size_t step, uint32_t count,
		const float *with)
{
	for (uint32_t x = 0; x < floats; x += VW) {
		const uint32_t left = floats - x < VW ? floats - x : VW;
		const float *w = wave + x;
		vf straight = { 0 };
		vf crossed = { 0 };
		vf sum;

		/* conj(w) s = (re w) s - i (im w) s */
		for (uint32_t i = 0; i < count; i++, w += step) {
			vf s = { 0 };

			for (int l = 0; l < VW; l += 2) {
				s[l] = with[2 * i];
				s[l + 1] = with[2 * i + 1];
			}
			straight += loadu(w) * s;
			crossed += loadu(w + step / 2) * s;
		}
		sum = load_some(line + x, left) + straight - times_i(crossed);
		memcpy(line + x, &sum, left * sizeof(float));
	}
}

const struct bs_grappa_kernels BS_ISA_NAME(bs_grappa_kernels) = {
	.correlate = correlate,
	.expand = expand,
	.fill = fill,
	.dots = dots,
	.add = add,
};
