/*
 * gpu/nufft_simd.c - the gridding kernels: sorted samples onto the grid, and off it
 *
 * The window's polynomials are evaluated on the fly: a sample then costs 12 to 24 bytes of table
 * instead of taps x dims weights, and the coils of a cell share the evaluation. A grid cell is
 * FLOATS wide (2 x the coils of a batch); taps and cell width are constants in each instance.
 * A row may be written up to one vector past its last tap, with zeros added: sectors leave room.
 */
#include "gpu/fft_simd.h"

#include <string.h>

#define WIDE_MAX (BS_TAPS_MAX * 16 / VW + 1)

/* The weights of taps 0 .. taps-1 at t. */
INLINE void weigh(const struct bs_taps *w, float t, int taps, float *out)
{
	const int n = (taps + VW - 1) / VW;
	vf a[16 / VW];

	UNROLL
	for (int i = 0; i < n; i++)
		a[i] = *(const vf *)&w->plain[0][i * VW];
	for (uint32_t d = 1; d < w->coefs; d++)
		UNROLL
		for (int i = 0; i < n; i++)
			a[i] = a[i] * t + *(const vf *)&w->plain[d][i * VW];
	UNROLL
	for (int i = 0; i < n; i++)
		*(vf *)(out + i * VW) = a[i];
	if (w->fractional && t > w->cut)
		out[taps - 1] = 0.0f;
}

/* The same with each tap repeated for the floats of a cell, where a cell is less than a vector. */
INLINE void weigh_wide(const struct bs_taps *w, float t, int taps, int floats, vf *a)
{
	const int n = (taps * floats + VW - 1) / VW;

	UNROLL
	for (int i = 0; i < n; i++)
		a[i] = *(const vf *)&w->wide[0][i * VW];
	for (uint32_t d = 1; d < w->coefs; d++)
		UNROLL
		for (int i = 0; i < n; i++)
			a[i] = a[i] * t + *(const vf *)&w->wide[d][i * VW];
	if (w->fractional && t > w->cut) {
		UNROLL
		for (int i = 0; i < n; i++)
			UNROLL
			for (int k = 0; k < VW; k++)
				if (i * VW + k >= (taps - 1) * floats)
					a[i][k] = 0.0f;
	}
}

/* The data of one cell, repeated to fill a vector. */
INLINE vf repeat(const float *d, int floats)
{
	vf v;

	if (floats == 2) {
		double both;
		vd t;

		memcpy(&both, d, sizeof(both));
		UNROLL
		for (int k = 0; k < VW / 2; k++)
			t[k] = both;
		return (vf)t;
	}
	UNROLL
	for (int k = 0; k < VW; k++)
		v[k] = d[k % floats];
	return v;
}

INLINE void spread(const struct bs_spread *s, int taps, int floats)
{
	const int n = (taps * floats + VW - 1) / VW;

	for (uint64_t m = 0; m < s->count; m++) {
		_Alignas(64) float wx[16];
		_Alignas(64) float wy[16] = { 1.0f };
		_Alignas(64) float wz[16] = { 1.0f };
		const float *d = s->data + m * (size_t)floats;
		float *g = s->grid + (size_t)s->cell[m] * (size_t)floats;
		vf r[WIDE_MAX];

		if (s->rows > 1)
			weigh(s->taps[1], s->t[1][m], taps, wy);
		if (s->planes > 1)
			weigh(s->taps[2], s->t[2][m], taps, wz);
		if (floats < VW) {
			vf v = repeat(d, floats);

			weigh_wide(s->taps[0], s->t[0][m], taps, floats, r);
			UNROLL
			for (int i = 0; i < n; i++)
				r[i] = r[i] * v;
		} else {
			weigh(s->taps[0], s->t[0][m], taps, wx);
			UNROLL
			for (int i = 0; i < n; i++)
				r[i] = wx[i * VW / floats] * loadu(d + i * VW % floats);
		}
		for (uint32_t z = 0; z < s->planes; z++) {
			float *at = g + z * s->plane;

			for (uint32_t y = 0; y < s->rows; y++, at += s->row) {
				float w = wz[z] * wy[y];

				UNROLL
				for (int i = 0; i < n; i++)
					storeu(at + i * VW, loadu(at + i * VW) + w * r[i]);
			}
		}
	}
}

INLINE void interpolate(const struct bs_spread *s, int taps, int floats)
{
	const int n = (taps * floats + VW - 1) / VW;

	for (uint64_t m = 0; m < s->count; m++) {
		_Alignas(64) float wx[16];
		_Alignas(64) float wy[16] = { 1.0f };
		_Alignas(64) float wz[16] = { 1.0f };
		float *d = s->data + m * (size_t)floats;
		const float *g = s->grid + (size_t)s->cell[m] * (size_t)floats;
		vf r[WIDE_MAX];

		if (s->rows > 1)
			weigh(s->taps[1], s->t[1][m], taps, wy);
		if (s->planes > 1)
			weigh(s->taps[2], s->t[2][m], taps, wz);
		UNROLL
		for (int i = 0; i < n; i++)
			r[i] = (vf){0};
		for (uint32_t z = 0; z < s->planes; z++) {
			const float *at = g + z * s->plane;

			for (uint32_t y = 0; y < s->rows; y++, at += s->row) {
				float w = wz[z] * wy[y];

				UNROLL
				for (int i = 0; i < n; i++)
					r[i] += w * loadu(at + i * VW);
			}
		}
		if (floats < VW) {
			vf x[WIDE_MAX];
			vf sum = {0};
			_Alignas(64) float out[VW];

			weigh_wide(s->taps[0], s->t[0][m], taps, floats, x);
			UNROLL
			for (int i = 0; i < n; i++)
				sum += x[i] * r[i];
			*(vf *)out = sum;
			UNROLL
			for (int half = VW / 2; half >= floats; half /= 2)
				UNROLL
				for (int k = 0; k < half; k++)
					out[k] += out[k + half];
			UNROLL
			for (int k = 0; k < floats; k++)
				d[k] = out[k];
		} else {
			const int v = floats / VW > 0 ? floats / VW : 1; /* vectors in a cell */
			vf sum[4];

			weigh(s->taps[0], s->t[0][m], taps, wx);
			UNROLL
			for (int k = 0; k < v; k++)
				sum[k] = wx[0] * r[k];
			UNROLL
			for (int i = v; i < n; i++)
				sum[i % v] += wx[i / v] * r[i];
			UNROLL
			for (int k = 0; k < v; k++)
				storeu(d + k * VW, sum[k]);
		}
	}
}

#define ONE(taps, floats)                                                                          \
	static void spread_##taps##_##floats(const struct bs_spread *s)                            \
	{                                                                                          \
		spread(s, taps, floats);                                                           \
	}                                                                                          \
	static void interpolate_##taps##_##floats(const struct bs_spread *s)                       \
	{                                                                                          \
		interpolate(s, taps, floats);                                                      \
	}
#define ALL(taps) ONE(taps, 2) ONE(taps, 4) ONE(taps, 8) ONE(taps, 16)
ALL(2) ALL(3) ALL(4) ALL(5) ALL(6) ALL(7) ALL(8) ALL(9) ALL(10) ALL(11) ALL(12)

#define ROW(f, taps) { NULL, f##_##taps##_2, f##_##taps##_4, f##_##taps##_8, f##_##taps##_16 }
#define TABLE(f)                                                                                   \
	{                                                                                          \
		{ NULL }, { NULL }, ROW(f, 2), ROW(f, 3), ROW(f, 4), ROW(f, 5), ROW(f, 6), ROW(f, 7), \
			ROW(f, 8), ROW(f, 9), ROW(f, 10), ROW(f, 11), ROW(f, 12),                  \
	}
const bs_spread_fn BS_SYM(bs_spread_table)[BS_TAPS_MAX + 1][5] = TABLE(spread);
const bs_spread_fn BS_SYM(bs_interpolate_table)[BS_TAPS_MAX + 1][5] = TABLE(interpolate);
