/*
 * gpu/nufft/grid_simd.c - the gridding kernels: sorted samples onto the grid, and off it
 *
 * The window's polynomials are evaluated on the fly: a sample then costs 12 to 24 bytes of table
 * instead of taps x dims weights. In y and z the lanes of a vector hold the samples of a block. In
 * x they hold taps, where a cell is narrower than 8 floats. There a row is added in pieces of 8
 * floats that always lie on multiples of 8, with the weights shifted instead (one set of
 * coefficients for each shift): a load that overlaps an unfinished store only in part would wait
 * for it. A piece holds zeros beyond the taps, and sectors leave room for them.
 */
#include "gpu/nufft/grid_simd.h"
#include "gpu/device/simd.h"

#include <string.h>

#define BLOCK 32 /* samples weighed at a time */

/* A vector, or half of one, that never straddles a multiple of 32 bytes when it holds 8 floats. */
#if VW == 16
typedef float vp __attribute__((vector_size(32), aligned(32), may_alias));
#define PIECE 8
#else
typedef vf vp;
#define PIECE VW
#endif
typedef float vpu __attribute__((vector_size(4 * PIECE), aligned(4), may_alias));
typedef float v4 __attribute__((vector_size(16), aligned(16), may_alias));
typedef float v4u __attribute__((vector_size(16), aligned(4), may_alias));
typedef int64_t vl __attribute__((vector_size(4 * VW)));

INLINE void split(const vf *a, vp *r, int pieces)
{
	UNROLL
	for (int i = 0; i < pieces; i++)
#if VW == 16
		r[i] = i % 2 == 0
			       ? __builtin_shufflevector(a[i / 2], a[i / 2], 0, 1, 2, 3, 4, 5, 6, 7)
			       : __builtin_shufflevector(a[i / 2], a[i / 2], 8, 9, 10, 11, 12, 13,
							 14, 15);
#else
		r[i] = a[i];
#endif
}

/* Adds up the cells of a vector, each of `floats` floats. */
INLINE void fold(float *to, vf a, int floats)
{
#if VW == 16
	vp h = __builtin_shufflevector(a, a, 0, 1, 2, 3, 4, 5, 6, 7) +
	       __builtin_shufflevector(a, a, 8, 9, 10, 11, 12, 13, 14, 15);
#elif VW == 8
	vf h = a;
#endif
#if VW >= 8
	v4 q = __builtin_shufflevector(h, h, 0, 1, 2, 3) +
	       __builtin_shufflevector(h, h, 4, 5, 6, 7);
#else
	v4 q = a;
#endif
	if (floats == 2)
		q += __builtin_shufflevector(q, q, 2, 3, 2, 3);
	memcpy(to, &q, (size_t)floats * sizeof(float));
}

struct weights {
	_Alignas(64) float x[BS_TAPS_MAX][BLOCK], y[2 * BS_TAPS_MAX][BLOCK], z[BS_TAPS_MAX][BLOCK];
	_Alignas(64) float yz[BS_TAPS_MAX * BS_TAPS_MAX + BS_TAPS_MAX][BLOCK];
};

/* Computes one axis' weights of a block, [tap][sample]. */
INLINE void weigh(const struct bs_taps *w, const float *t, int taps, float (*out)[BLOCK])
{
	vf v[BLOCK / VW];

	for (int i = 0; i < BLOCK / VW; i++)
		v[i] = loadu(t + i * VW);
	for (int j = 0; j < taps; j++) {
		vf a[BLOCK / VW];

		UNROLL
		for (int i = 0; i < BLOCK / VW; i++)
			a[i] = (vf){ 0 } + w->tap[j][0];
		for (uint32_t d = 1; d < w->coefs; d++)
			UNROLL
		for (int i = 0; i < BLOCK / VW; i++)
			a[i] = a[i] * v[i] + w->tap[j][d];
		UNROLL
		for (int i = 0; i < BLOCK / VW; i++)
			*(vf *)(out[j] + i * VW) = a[i];
	}
	for (int i = 0; w->fractional && i < BLOCK; i++)
		if (t[i] > w->cut)
			out[taps - 1][i] = 0.0f;
}

/* Computes the block's weights, except those in x of narrow cells, for count samples. */
INLINE const float (*block_weights(const struct bs_spread *s, uint64_t first, uint64_t count,
				   int taps, int floats, struct weights *w))[BLOCK]
{
	for (int a = floats >= 8 ? 0 : 1; a < 3; a++) {
		float tail[BLOCK] = { 0.0f };
		const float *t = s->t[a];

		if (t == NULL)
			continue;
		t += first;
		if (count < BLOCK)
			t = memcpy(tail, t, count * sizeof(float));
		weigh(s->taps[a], t, taps, a == 0 ? w->x : a == 1 ? w->y : w->z);
	}
	if (s->rows == 1)
		for (int i = 0; i < BLOCK; i++)
			w->y[0][i] = 1.0f;
	if (s->planes == 1)
		return (const float(*)[BLOCK])w->y;
	for (int z = 0; z < taps; z++)
		for (int y = 0; y < taps; y++)
			UNROLL
	for (int i = 0; i < BLOCK; i += VW)
		*(vf *)(w->yz[z * taps + y] + i) = *(vf *)(w->z[z] + i) * *(vf *)(w->y[y] + i);
	return (const float(*)[BLOCK])w->yz;
}

/* Makes the x weights of one sample: n vectors, each tap repeated for the floats of a cell. */
#define STEP(d)                                                                                    \
	case d:                                                                                    \
		UNROLL                                                                             \
		for (int i = 0; i < n; i++)                                                        \
			a[i] = a[i] * t + *(const vf *)&c[(d)-1][i * VW];                          \
		__attribute__((fallthrough));
INLINE void weigh_wide(const struct bs_taps *w, uint32_t shift, float t, int n, int taps,
		       int floats, vf *a)
{
	const float(*c)[BS_WIDE] = w->wide[shift];

	UNROLL
	for (int i = 0; i < n; i++)
		a[i] = (vf){ 0 };
	/* clang-format off */
	switch (w->coefs) { /* wide[][0] is the constant term */
	default: STEP(15) STEP(14) STEP(13) STEP(12) STEP(11) STEP(10) STEP(9) STEP(8)
		 STEP(7) STEP(6) STEP(5) STEP(4) STEP(3) STEP(2) STEP(1)
	case 0:
		break;
	}
	/* clang-format on */
	if (w->fractional && t > w->cut) {
		_Alignas(64) float out[BS_WIDE];

		for (int i = 0; i < n; i++)
			*(vf *)(out + i * VW) = a[i];
		for (int k = 0; k < floats; k++)
			out[((int)shift + taps - 1) * floats + k] = 0.0f;
		for (int i = 0; i < n; i++)
			a[i] = *(vf *)(out + i * VW);
	}
}

/* Repeats a narrow cell's floats to fill a vector. */
INLINE vf repeat(const float *d, int floats)
{
	if (floats == 2) {
		int64_t both;

		memcpy(&both, d, sizeof(both));
		return (vf)((vl){ 0 } + both);
	}
	v4 one = *(const v4u *)d;
#if VW == 16
	return __builtin_shufflevector(one, one, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
#elif VW == 8
	return __builtin_shufflevector(one, one, 0, 1, 2, 3, 0, 1, 2, 3);
#else
	return one;
#endif
}

/* ---- spreading ---- */

/* Adds a row of pieces, times w, at p. */
INLINE void add_row(float *p, const vp *r, int pieces, float w)
{
	UNROLL
	for (int i = 0; i < pieces; i++)
		*(vp *)(p + i * PIECE) += w * r[i];
}

/* Adds one sample by itself: its row v, times every weight in y and z, at g. */
INLINE void add_one(const struct bs_spread *s, float *g, const vf *v, const float *wy, int taps,
		    int pieces)
{
	const size_t row = s->row;
	vp r[BS_WIDE / PIECE];

	split(v, r, pieces);
	for (uint32_t z = 0; z < s->planes; z++, g += s->plane, wy += taps * BLOCK) {
		float *p = g;

		UNROLL
		for (int y = 0; y < taps; y++, p += row)
			add_row(p, r, pieces, wy[y * BLOCK]);
	}
}

/*
 * Adds samples with the same pieces: sums them in registers, a few rows at a time, then adds to g.
 */
INLINE void add_group(const struct bs_spread *s, float *g, const vf *v, const float *wy,
		      size_t count, int taps, int n, int pieces)
{
	const int most = (VW == 16 ? 24 : 10) / n;
	const int rows = most < 1 ? 1 : most < taps ? most : taps;
	const size_t row = s->row;

	for (uint32_t z = 0; z < s->planes; z++, g += s->plane, wy += taps * BLOCK)
		for (int y = 0; y < taps; y += rows) {
			float *p = g + (size_t)y * row;
			const float *w = wy + y * BLOCK;
			vf a[24];

			UNROLL
			for (int k = 0; k < rows * n; k++)
				a[k] = w[(size_t)(k / n) * BLOCK] * v[k % n];
			for (size_t i = 1; i < count; i++)
				UNROLL
			for (int k = 0; k < rows * n; k++)
				a[k] += w[(size_t)(k / n) * BLOCK + i] *
					v[i * (size_t)n + (size_t)(k % n)];
			UNROLL
			for (int k = 0; k < rows; k++) {
				vp r[BS_WIDE / PIECE];

				if (y + k >= taps)
					break;
				split(a + k * n, r, pieces);
				UNROLL
				for (int i = 0; i < pieces; i++)
					*(vp *)(p + (size_t)k * row + i * PIECE) += r[i];
			}
		}
}

KERNEL void spread_narrow(const struct bs_spread *s, int taps, int floats)
{
	const int shifts = 8 / floats;
	const int lanes = (shifts - 1 + taps + shifts - 1) / shifts * 8;
	const int n = (lanes + VW - 1) / VW;
	const int pieces = lanes / PIECE;
	struct weights w;
	vf v[BLOCK * (BS_WIDE / VW)];
	uint32_t base[BLOCK + 1];

	for (uint64_t first = 0; first < s->count; first += BLOCK) {
		size_t count = s->count - first < BLOCK ? s->count - first : BLOCK;
		const float(*yz)[BLOCK] = block_weights(s, first, count, taps, floats, &w);
		const uint32_t *cell = s->cell + first;
		const float *t = s->t[0] + first;
		const float *data = s->data + first * (size_t)floats;

		for (size_t i = 0; i < count; i++) {
			uint32_t shift = cell[i] % (uint32_t)shifts;
			vf d = repeat(data + i * (size_t)floats, floats);
			vf a[BS_WIDE / VW];

			base[i] = cell[i] - shift;
			weigh_wide(s->taps[0], shift, t[i], n, taps, floats, a);
			UNROLL
			for (int k = 0; k < n; k++)
				v[i * (size_t)n + (size_t)k] = a[k] * d;
		}
		base[count] = UINT32_MAX;
		for (size_t i = 0; i < count;) {
			float *g = s->grid + (size_t)base[i] * (size_t)floats;
			const vf *at = v + i * (size_t)n;
			size_t end = i + 1;

			while (base[end] == base[i])
				end++;
			if (s->rows == 1)
				for (; i < end; i++, at += n) {
					vp r[BS_WIDE / PIECE];

					split(at, r, pieces);
					add_row(g, r, pieces, 1.0f);
				}
			else if (end == i + 1)
				add_one(s, g, at, &yz[0][i], taps, pieces);
			else
				add_group(s, g, at, &yz[0][i], end - i, taps, n, pieces);
			i = end;
		}
	}
}

/* Spreads for cells of 8 or 16 floats, where a tap's pieces always lie on their own boundaries. */
KERNEL void spread_broad(const struct bs_spread *s, int taps, int floats)
{
	const int each = floats >= VW ? VW : floats; /* floats of a vector that is added */
	const int n = floats / each;
	const size_t row = s->row;
	const size_t plane = s->plane;
	const uint32_t rows = s->rows;
	const uint32_t planes = s->planes;
	struct weights w;

	for (uint64_t first = 0; first < s->count; first += BLOCK) {
		uint64_t count = s->count - first < BLOCK ? s->count - first : BLOCK;
		const float(*yz)[BLOCK] = block_weights(s, first, count, taps, floats, &w);

		for (uint64_t i = 0; i < count; i++) {
			float *g = s->grid + (size_t)s->cell[first + i] * (size_t)floats;
			const float *d = s->data + (first + i) * (size_t)floats;
			const float *wy = &yz[0][i];

			if (each == VW) {
				vf r[BS_TAPS_MAX * 16 / VW];

				UNROLL
				for (int k = 0; k < taps * n; k++)
					r[k] = w.x[k / n][i] * loadu(d + k % n * VW);
				for (uint32_t z = 0; z < planes; z++, g += plane) {
					float *p = g;

					for (uint32_t y = 0; y < rows; y++, p += row, wy += BLOCK)
						UNROLL
					for (int k = 0; k < taps * n; k++)
						*(vf *)(p + k * VW) += *wy * r[k];
				}
			} else {
				vp r[BS_TAPS_MAX];

				UNROLL
				for (int k = 0; k < taps; k++)
					r[k] = w.x[k][i] * *(const vpu *)d;
				for (uint32_t z = 0; z < planes; z++, g += plane) {
					float *p = g;

					for (uint32_t y = 0; y < rows; y++, p += row, wy += BLOCK)
						add_row(p, r, taps, *wy);
				}
			}
		}
	}
}

/* ---- interpolation ---- */

KERNEL void interpolate_narrow(const struct bs_spread *s, int taps, int floats)
{
	/*
	 * Whole pieces are read where that takes no more vectors than reading from the first tap
	 * on.
	 */
	const int tight = (taps * floats + VW - 1) / VW;
	const int most = 8 / floats;
	const int shifts = ((most - 1 + taps) * floats + VW - 1) / VW > tight ? 1 : most;
	const int n = ((shifts - 1 + taps) * floats + VW - 1) / VW;
	const size_t row = s->row;
	const size_t plane = s->plane;
	const uint32_t planes = s->planes;
	struct weights w;

	for (uint64_t first = 0; first < s->count; first += BLOCK) {
		size_t count = s->count - first < BLOCK ? s->count - first : BLOCK;
		const float(*yz)[BLOCK] = block_weights(s, first, count, taps, floats, &w);
		const uint32_t *cell = s->cell + first;
		const float *t = s->t[0] + first;
		float *data = s->data + first * (size_t)floats;

		for (size_t i = 0; i < count; i++, data += floats) {
			uint32_t shift = cell[i] % (uint32_t)shifts;
			const float *g = s->grid + (size_t)(cell[i] - shift) * (size_t)floats;
			const float *wy = &yz[0][i];
			vf x[BS_WIDE / VW];
			/* sums of even and of odd rows, two independent chains */
			vf r[2 * BS_WIDE / VW];
			vf sum = { 0 };

			UNROLL
			for (int k = 0; k < 2 * n; k++)
				r[k] = (vf){ 0 };
			for (int k = 0; s->rows == 1 && k < n; k++)
				r[k] = loadu(g + k * VW);
			for (uint32_t z = 0; s->rows > 1 && z < planes;
			     z++, g += plane, wy += taps * BLOCK) {
				const float *p = g;

				UNROLL
				for (int y = 0; y < taps; y++, p += row)
					UNROLL
				for (int k = 0; k < n; k++)
					r[y % 2 * n + k] += wy[y * BLOCK] * loadu(p + k * VW);
			}
			weigh_wide(s->taps[0], shift, t[i], n, taps, floats, x);
			UNROLL
			for (int k = 0; k < n; k++)
				sum += x[k] * (r[k] + r[n + k]);
			fold(data, sum, floats);
		}
	}
}

KERNEL void interpolate_broad(const struct bs_spread *s, int taps, int floats)
{
	const int n = floats / VW;
	const size_t row = s->row;
	const size_t plane = s->plane;
	const uint32_t rows = s->rows;
	const uint32_t planes = s->planes;
	struct weights w;

	for (uint64_t first = 0; first < s->count; first += BLOCK) {
		uint64_t count = s->count - first < BLOCK ? s->count - first : BLOCK;
		const float(*yz)[BLOCK] = block_weights(s, first, count, taps, floats, &w);

		for (uint64_t i = 0; i < count; i++) {
			const float *g = s->grid + (size_t)s->cell[first + i] * (size_t)floats;
			const float *wy = &yz[0][i];
			float *d = s->data + (first + i) * (size_t)floats;

			if (n > 0) {
				vf r[BS_TAPS_MAX * 16 / VW];

				UNROLL
				for (int k = 0; k < taps * n; k++)
					r[k] = (vf){ 0 };
				for (uint32_t z = 0; z < planes; z++, g += plane) {
					const float *p = g;

					for (uint32_t y = 0; y < rows; y++, p += row, wy += BLOCK)
						UNROLL
					for (int k = 0; k < taps * n; k++)
						r[k] += *wy * *(const vf *)(p + k * VW);
				}
				UNROLL
				for (int k = 0; k < taps * n; k++)
					r[k % n] = k < n ? w.x[0][i] * r[k]
							 : r[k % n] + w.x[k / n][i] * r[k];
				UNROLL
				for (int k = 0; k < n; k++)
					storeu(d + k * VW, r[k]);
			} else {
				vp r[BS_TAPS_MAX];

				UNROLL
				for (int k = 0; k < taps; k++)
					r[k] = (vp){ 0 };
				for (uint32_t z = 0; z < planes; z++, g += plane) {
					const float *p = g;

					for (uint32_t y = 0; y < rows; y++, p += row, wy += BLOCK)
						UNROLL
					for (int k = 0; k < taps; k++)
						r[k] += *wy * *(const vp *)(p + k * PIECE);
				}
				r[0] = w.x[0][i] * r[0];
				UNROLL
				for (int k = 1; k < taps; k++)
					r[0] += w.x[k][i] * r[k];
				*(vpu *)d = r[0];
			}
		}
	}
}

/* ---- every width ---- */

#define ONE(taps, floats, kind)                                                                    \
	static void spread_##taps##_##floats(const struct bs_spread *s)                            \
	{                                                                                          \
		spread_##kind(s, taps, floats);                                                    \
	}                                                                                          \
	static void interpolate_##taps##_##floats(const struct bs_spread *s)                       \
	{                                                                                          \
		interpolate_##kind(s, taps, floats);                                               \
	}
#define ALL(taps) ONE(taps, 2, narrow) ONE(taps, 4, narrow) ONE(taps, 8, broad) ONE(taps, 16, broad)
/* clang-format off */
ALL(2) ALL(3) ALL(4) ALL(5) ALL(6) ALL(7) ALL(8) ALL(9) ALL(10) ALL(11) ALL(12)
/* clang-format on */

#define ROW(f, taps)                                                                               \
	{                                                                                          \
		NULL, f##_##taps##_2, f##_##taps##_4, f##_##taps##_8, f##_##taps##_16              \
	}
#define TABLE(f)                                                                                   \
	{                                                                                          \
		{ NULL }, { NULL }, ROW(f, 2), ROW(f, 3), ROW(f, 4), ROW(f, 5), ROW(f, 6),         \
			ROW(f, 7), ROW(f, 8), ROW(f, 9), ROW(f, 10), ROW(f, 11), ROW(f, 12),       \
	}
	const struct bs_grid_kernels
	BS_ISA_NAME(bs_grid_kernels) = { TABLE(spread), TABLE(interpolate) };
