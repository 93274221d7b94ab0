/* gpu/grappa/grappa_simd.c - see grappa_simd.h */
#include "gpu/grappa/grappa_simd.h"

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

static void products(const float *a, const float *b, size_t imag, size_t coil, size_t line,
		     uint32_t lines, uint32_t n, double sign, double *to)
{
	for (uint32_t x = 0; x < n; x += HALF, to += HALF) {
		const float *p = a + x;
		const float *q = b + x;
		wide re[4] = { { 0 } };
		wide im[4] = { { 0 } };

		for (uint32_t l = 0; l < lines; l++, p += line, q += line) {
			wide ar[2] = { widen(p), widen(p + coil) };
			wide ai[2] = { widen(p + imag), widen(p + coil + imag) };
			wide br[2] = { widen(q), widen(q + coil) };
			wide bi[2] = { widen(q + imag), widen(q + coil + imag) };

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
		for (size_t k = 0; k < 4; k++) {
			*(vdu *)(to + 2 * k * n) += sign * re[k];
			*(vdu *)(to + (2 * k + 1) * n) += sign * im[k];
		}
	}
}

static void lags(const double *product, uint32_t n, const double *wave, uint32_t count, double *to)
{
	for (uint32_t l = 0; l < count; l++, wave += (size_t)2 * n)
		for (size_t k = 0; k < 4; k++, to += 2) {
			const double *p = product + 2 * k * n;
			wide re = { 0 };
			wide im = { 0 };

			for (uint32_t x = 0; x < n; x += HALF) {
				const wide c = *(const vdu *)(wave + x);
				const wide s = *(const vdu *)(wave + n + x);
				const wide pr = *(const vdu *)(p + x);
				const wide pi = *(const vdu *)(p + n + x);

				re += pr * c - pi * s;
				im += pr * s + pi * c;
			}
			to[0] = total(re);
			to[1] = total(im);
		}
}

static void outer(const float *a, const float *b, size_t imag, uint32_t n, double sign, double *to,
		  size_t step)
{
	const double ar = sign * a[0];
	const double ai = sign * a[imag];
	uint32_t x = 0;

	for (; x + HALF <= n; x += HALF) {
		const wide br = widen(b + x);
		const wide bi = widen(b + imag + x);

		*(vdu *)(to + x) += ar * br + ai * bi;
		*(vdu *)(to + step + x) += ar * bi - ai * br;
	}
	for (; x < n; x++) {
		to[x] += ar * b[x] + ai * b[imag + x];
		to[step + x] += ar * b[imag + x] - ai * b[x];
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
	vf s[BS_GRAPPA_WAVES];
	vf crossed[BS_GRAPPA_WAVES]; /* i s */

	for (uint32_t i = 0; i < count; i++) {
		for (int l = 0; l < VW; l += 2) {
			s[i][l] = with[2 * i];
			s[i][l + 1] = with[2 * i + 1];
		}
		crossed[i] = times_i(s[i]);
	}
	for (uint32_t x = 0; x < floats; x += VW) {
		const uint32_t left = floats - x;
		const float *w = wave + x;
		vf sum = left < VW ? load_some(line + x, left) : loadu(line + x);

		/* conj(w) s = (re w) s - (im w) (i s) */
		for (uint32_t i = 0; i < count; i++, w += step)
			sum += loadu(w) * s[i] - loadu(w + step / 2) * crossed[i];
		if (left < VW)
			memcpy(line + x, &sum, left * sizeof(float));
		else
			storeu(line + x, sum);
	}
}

const struct bs_grappa_kernels BS_ISA_NAME(bs_grappa_kernels) = {
	.products = products,
	.lags = lags,
	.outer = outer,
	.expand = expand,
	.fill = fill,
	.dots = dots,
	.add = add,
};
