/* gpu/penalty/wavelet_simd.c - see wavelet_simd.h */
#include "gpu/penalty/wavelet_simd.h"

#include <math.h>
#include <string.h>

#define TAPS BS_WAVELET_TAPS
#define SUMS 16 /* sums in turn, so that vectors add them */

static const float low[TAPS] = { 0.4829629131445341f, 0.8365163037378077f, 0.2241438680420134f,
				 -0.1294095225512603f };
static const float high[TAPS] = { -0.1294095225512603f, -0.2241438680420134f, 0.8365163037378077f,
				  -0.4829629131445341f };

static void taps(float *restrict to, const float *const r[TAPS], const float h[TAPS], size_t n)
{
	const float *restrict r0 = r[0];
	const float *restrict r1 = r[1];
	const float *restrict r2 = r[2];
	const float *restrict r3 = r[3];

	for (size_t i = 0; i < n; i++)
		to[i] = h[0] * r0[i] + h[1] * r1[i] + (h[2] * r2[i] + h[3] * r3[i]);
}

/*
 * The inverse's taps for even and odd places: of low[q], low[q - 1], high[q], high[q - 1]. high's
 * are low's in reverse, with every other sign.
 */
static const float back[2][TAPS] = {
	{ 0.4829629131445341f, 0.2241438680420134f, -0.1294095225512603f, 0.8365163037378077f },
	{ 0.8365163037378077f, -0.1294095225512603f, -0.2241438680420134f, -0.4829629131445341f }
};

/* The place before, around a ring of n. */
static uint32_t before(uint32_t i, uint32_t n)
{
	return (i == 0 ? n : i) - 1;
}

/* Transforms n rows of `floats` floats, stride floats apart, in place; `from`: first tap's row. */
static void strip(float *at, size_t stride, uint32_t n, size_t floats, uint32_t from, bool inverse,
		  float *work)
{
	const uint32_t half = n / 2;
	const float *r[TAPS];

	for (uint32_t j = 0; j < half; j++)
		if (inverse) {
			r[0] = at + j * stride;
			r[1] = at + before(j, half) * stride;
			r[2] = r[0] + half * stride;
			r[3] = r[1] + half * stride;
			for (uint32_t odd = 0; odd < 2; odd++)
				taps(work + (2 * j + odd + from) % n * floats, r, back[odd],
				     floats);
		} else {
			for (uint32_t k = 0; k < TAPS; k++)
				r[k] = at + (2 * j + from + k) % n * stride;
			taps(work + j * floats, r, low, floats);
			taps(work + (half + j) * floats, r, high, floats);
		}
	for (uint32_t i = 0; i < n; i++)
		memcpy(at + i * stride, work + i * floats, floats * sizeof(float));
}

/* Takes values of 8 bytes apart: even ones to one array, odd ones to another. */
static void part(float *restrict even, float *restrict odd, const float *restrict at, uint32_t half)
{
	for (uint32_t j = 0; j < half; j++)
		for (uint32_t p = 0; p < 2; p++) {
			even[2 * j + p] = at[4 * j + p];
			odd[2 * j + p] = at[4 * j + 2 + p];
		}
}

static void join(float *restrict at, const float *restrict even, const float *restrict odd,
		 uint32_t half)
{
	for (uint32_t j = 0; j < half; j++)
		for (uint32_t p = 0; p < 2; p++) {
			at[4 * j + p] = even[2 * j + p];
			at[4 * j + 2 + p] = odd[2 * j + p];
		}
}

/* Transforms one row of n complex values in place. */
static void row_forward(float *at, uint32_t n, uint32_t from, float *work)
{
	const uint32_t half = n / 2;
	float *even = work + (size_t)2 * n;
	float *odd = even + n + 2;
	const float *const r[TAPS] = { even, odd, even + 2, odd + 2 };

	memcpy(work, at + (size_t)2 * from, (size_t)(n - from) * 8);
	memcpy(work + 2 * (n - from), at, (size_t)from * 8);
	part(even, odd, work, half);
	for (uint32_t p = 0; p < 2; p++) { /* the row goes on around the ring */
		even[n + p] = even[p];
		odd[n + p] = odd[p];
	}
	taps(at, r, low, n);
	taps(at + n, r, high, n);
}

static void row_inverse(float *at, uint32_t n, uint32_t from, float *work)
{
	const uint32_t half = n / 2;
	float *l = work + (size_t)2 * n + 2;
	float *h = l + n + 2;
	float *even = h + n;
	float *odd = even + n;
	const float *const r[TAPS] = { l, l - 2, h, h - 2 };

	memcpy(l, at, (size_t)n * 4);
	memcpy(h, at + n, (size_t)n * 4);
	memcpy(l - 2, l + n - 2, 8); /* the row goes on around the ring */
	memcpy(h - 2, h + n - 2, 8);
	taps(even, r, back[0], n);
	taps(odd, r, back[1], n);
	join(work, even, odd, half);
	memcpy(at + (size_t)2 * from, work, (size_t)(n - from) * 8);
	memcpy(at, work + 2 * (n - from), (size_t)from * 8);
}

static void row(float *at, uint32_t n, uint32_t from, bool inverse, float *work)
{
	if (inverse)
		row_inverse(at, n, from, work);
	else
		row_forward(at, n, from, work);
}

/* Shrinks SUMS values at once. */
static void shrink_some(float *restrict c, float t, double *restrict sum)
{
	float left[SUMS];
	float keep[SUMS];

	for (int k = 0; k < SUMS; k++) {
		const float a = sqrtf(c[2 * k] * c[2 * k] + c[2 * k + 1] * c[2 * k + 1]);

		left[k] = a > t ? a - t : 0.0f;
		keep[k] = left[k] / (a > t ? a : 1.0f);
	}
	for (int k = 0; k < SUMS; k++) {
		c[2 * k] *= keep[k];
		c[2 * k + 1] *= keep[k];
	}
	for (int k = 0; k < SUMS; k++)
		sum[k] += (double)left[k];
}

static double shrink(float *c, uint64_t n, float t)
{
	double sum[SUMS] = { 0 };
	float rest[2 * SUMS] = { 0 };
	const uint64_t whole = n - n % SUMS;
	double all = 0.0;

	for (uint64_t i = 0; i < whole; i += SUMS)
		shrink_some(c + 2 * i, t, sum);
	memcpy(rest, c + 2 * whole, (size_t)(n - whole) * 8);
	shrink_some(rest, t, sum);
	memcpy(c + 2 * whole, rest, (size_t)(n - whole) * 8);
	for (int k = 0; k < SUMS; k++)
		all += sum[k];
	return all;
}

const struct bs_wavelet_kernels BS_ISA_NAME(bs_wavelet_kernels) = { strip, row, shrink };
