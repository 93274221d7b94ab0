/*
 * gpu/fft/fft_simd.c - the transform of columns, one in each lane; its loads and stores
 *
 * A block is [index][re lanes][im lanes], so that a butterfly is plain vector arithmetic without
 * a shuffle; the inverse transform is the forward one with re and im exchanged.
 */
#include "gpu/fft/fft.h"
#include "gpu/device/simd.h"

#include <string.h>

#define CELL (2 * VW) /* floats of one index */

struct cx {
	vf re, im;
};

INLINE struct cx get(const float *x, size_t i, size_t re, size_t im)
{
	return (struct cx){ *(const vf *)(x + i * CELL + re), *(const vf *)(x + i * CELL + im) };
}

INLINE void put(float *y, size_t i, size_t re, size_t im, struct cx v)
{
	*(vf *)(y + i * CELL + re) = v.re;
	*(vf *)(y + i * CELL + im) = v.im;
}

INLINE struct cx add(struct cx a, struct cx b)
{
	return (struct cx){ a.re + b.re, a.im + b.im };
}

INLINE struct cx sub(struct cx a, struct cx b)
{
	return (struct cx){ a.re - b.re, a.im - b.im };
}

INLINE struct cx mul(struct cx a, const float *w)
{
	return (struct cx){ a.re * w[0] - a.im * w[1], a.re * w[1] + a.im * w[0] };
}

INLINE struct cx minus_i(struct cx a) /* a * -i */
{
	return (struct cx){ a.im, -a.re };
}

INLINE void bf2(struct cx *a)
{
	struct cx t = a[0];

	a[0] = add(t, a[1]);
	a[1] = sub(t, a[1]);
}

INLINE void bf3(struct cx *a)
{
	const float s = 0.866025403784438647f;
	struct cx t = add(a[1], a[2]);
	struct cx u = sub(a[1], a[2]);
	struct cx m = { a[0].re - 0.5f * t.re, a[0].im - 0.5f * t.im };

	a[0] = add(a[0], t);
	a[1] = (struct cx){ m.re + s * u.im, m.im - s * u.re };
	a[2] = (struct cx){ m.re - s * u.im, m.im + s * u.re };
}

INLINE void bf4(struct cx *a)
{
	struct cx t0 = add(a[0], a[2]);
	struct cx t1 = sub(a[0], a[2]);
	struct cx t2 = add(a[1], a[3]);
	struct cx t3 = minus_i(sub(a[1], a[3]));

	a[0] = add(t0, t2);
	a[1] = add(t1, t3);
	a[2] = sub(t0, t2);
	a[3] = sub(t1, t3);
}

INLINE void bf5(struct cx *a)
{
	const float c1 = 0.309016994374947424f;
	const float c2 = -0.809016994374947424f;
	const float s1 = 0.951056516295153572f;
	const float s2 = 0.587785252292473129f;
	struct cx p1 = add(a[1], a[4]);
	struct cx m1 = sub(a[1], a[4]);
	struct cx p2 = add(a[2], a[3]);
	struct cx m2 = sub(a[2], a[3]);
	struct cx u1 = { a[0].re + c1 * p1.re + c2 * p2.re, a[0].im + c1 * p1.im + c2 * p2.im };
	struct cx u2 = { a[0].re + c2 * p1.re + c1 * p2.re, a[0].im + c2 * p1.im + c1 * p2.im };
	struct cx v1 = { s1 * m1.im + s2 * m2.im, -(s1 * m1.re + s2 * m2.re) };
	struct cx v2 = { s2 * m1.im - s1 * m2.im, -(s2 * m1.re - s1 * m2.re) };

	a[0] = add(a[0], add(p1, p2));
	a[1] = add(u1, v1);
	a[4] = sub(u1, v1);
	a[2] = add(u2, v2);
	a[3] = sub(u2, v2);
}

INLINE void bf8(struct cx *a)
{
	const float h = 0.707106781186547524f;
	struct cx e[4] = { a[0], a[2], a[4], a[6] };
	struct cx o[4] = { a[1], a[3], a[5], a[7] };

	bf4(e);
	bf4(o);
	o[1] = (struct cx){ h * (o[1].re + o[1].im), h * (o[1].im - o[1].re) };
	o[2] = minus_i(o[2]);
	o[3] = (struct cx){ h * (o[3].im - o[3].re), -h * (o[3].re + o[3].im) };
	UNROLL
	for (int k = 0; k < 4; k++) {
		a[k] = add(e[k], o[k]);
		a[k + 4] = sub(e[k], o[k]);
	}
}

INLINE void bf(struct cx *a, int radix)
{
	switch (radix) {
	case 2:
		bf2(a);
		break;
	case 3:
		bf3(a);
		break;
	case 4:
		bf4(a);
		break;
	case 5:
		bf5(a);
		break;
	default:
		bf8(a);
	}
}

/* y[q + s(r g + k)] = w^(gk) sum_j x[q + s(g + j m)] e^(-i2pi jk/r), g < m, q < s */
INLINE void pass(const struct bs_fft_pass *p, int r, const float *x, float *y, size_t re, size_t im)
{
	const size_t m = p->groups;
	const size_t s = p->stride;

	for (size_t g = 0; g < m; g++) {
		const float *w = p->twiddle + 2 * g * (size_t)(r - 1);

		for (size_t q = 0; q < s; q++) {
			struct cx a[8];

			UNROLL
			for (int j = 0; j < r; j++)
				a[j] = get(x, q + s * (g + (size_t)j * m), re, im);
			bf(a, r);
			put(y, q + s * (size_t)r * g, re, im, a[0]);
			UNROLL
			for (int k = 1; k < r; k++)
				put(y, q + s * ((size_t)r * g + (size_t)k), re, im,
				    g == 0 ? a[k] : mul(a[k], w + 2 * (k - 1)));
		}
	}
}

/* A prime radix of 7 or more: the sum as it stands. Rare: sizes come from 2, 3 and 5. */
static void pass_any(const struct bs_fft_pass *p, const float *x, float *y, size_t re, size_t im)
{
	const size_t r = p->radix;
	const size_t m = p->groups;
	const size_t s = p->stride;

	for (size_t g = 0; g < m; g++)
		for (size_t q = 0; q < s; q++)
			for (size_t k = 0; k < r; k++) {
				struct cx t = get(x, q + s * g, re, im);

				for (size_t j = 1; j < r; j++)
					t = add(t, mul(get(x, q + s * (g + j * m), re, im),
						       p->root + 2 * (j * k % r)));
				if (k != 0)
					t = mul(t, p->twiddle + 2 * (g * (r - 1) + k - 1));
				put(y, q + s * (r * g + k), re, im, t);
			}
}

static float *run(const struct bs_fft *f, float *a, float *b, bool inverse)
{
	const size_t re = inverse ? VW : 0;
	const size_t im = inverse ? 0 : VW;

	for (uint32_t i = 0; i < f->passes; i++) {
		const struct bs_fft_pass *p = &f->pass[i];
		float *t = a;

		switch (p->radix) {
		case 2:
			pass(p, 2, a, b, re, im);
			break;
		case 3:
			pass(p, 3, a, b, re, im);
			break;
		case 4:
			pass(p, 4, a, b, re, im);
			break;
		case 5:
			pass(p, 5, a, b, re, im);
			break;
		case 8:
			pass(p, 8, a, b, re, im);
			break;
		default:
			pass_any(p, a, b, re, im);
		}
		a = b;
		b = t;
	}
	return a;
}

/* The transpose of a square of complex numbers, each a double's bits: VW / 2 a side. */
INLINE void transpose(vd *v)
{
#if VW == 16
	vd t[8];

	UNROLL
	for (int i = 0; i < 4; i++) {
		t[2 * i] =
			__builtin_shufflevector(v[2 * i], v[2 * i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
		t[2 * i + 1] =
			__builtin_shufflevector(v[2 * i], v[2 * i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
	}
	UNROLL
	for (int i = 0; i < 8; i += 4)
		UNROLL
	for (int k = 0; k < 2; k++) {
		v[i + k] =
			__builtin_shufflevector(t[i + k], t[i + k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
		v[i + k + 2] =
			__builtin_shufflevector(t[i + k], t[i + k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
	}
	UNROLL
	for (int k = 0; k < 4; k++) {
		t[k] = __builtin_shufflevector(v[k], v[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
		t[k + 4] = __builtin_shufflevector(v[k], v[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
	}
	UNROLL
	for (int k = 0; k < 8; k++)
		v[k] = t[k];
#elif VW == 8
	vd t[4];

	UNROLL
	for (int i = 0; i < 4; i += 2) {
		t[i] = __builtin_shufflevector(v[i], v[i + 1], 0, 4, 2, 6);
		t[i + 1] = __builtin_shufflevector(v[i], v[i + 1], 1, 5, 3, 7);
	}
	UNROLL
	for (int k = 0; k < 2; k++) {
		v[k] = __builtin_shufflevector(t[k], t[k + 2], 0, 1, 4, 5);
		v[k + 2] = __builtin_shufflevector(t[k], t[k + 2], 2, 3, 6, 7);
	}
#else
	vd t = v[0];

	v[0] = __builtin_shufflevector(t, v[1], 0, 2);
	v[1] = __builtin_shufflevector(t, v[1], 1, 3);
#endif
}

static void cols_in(float *block, const float *from, size_t stride, uint32_t rows, uint32_t count,
		    const float *scale, bool accumulate)
{
	if (count < VW && !accumulate)
		memset(block, 0, (size_t)rows * CELL * sizeof(float));
	for (uint32_t i = 0; i < rows; i++) {
		const float *f = from + i * stride;
		float *b = block + (size_t)i * CELL;
		float s = scale != NULL ? scale[i] : 1.0f;

		if (count == VW) {
			vf p = loadu(f);
			vf q = loadu(f + VW);
			vf re = s * EVEN(p, q);
			vf im = s * ODD(p, q);

			if (accumulate) {
				re += *(vf *)b;
				im += *(vf *)(b + VW);
			}
			*(vf *)b = re;
			*(vf *)(b + VW) = im;
			continue;
		}
		for (uint32_t j = 0; j < count; j++) {
			b[j] += s * f[2 * j];
			b[j + VW] += s * f[2 * j + 1];
		}
	}
}

static void cols_out(float *to, size_t stride, const float *block, uint32_t rows, uint32_t count,
		     const float *scale)
{
	for (uint32_t i = 0; i < rows; i++) {
		const float *b = block + (size_t)i * CELL;
		float *t = to + i * stride;
		float s = scale != NULL ? scale[i] : 1.0f;

		if (count == VW) {
			vf re = s * *(const vf *)b;
			vf im = s * *(const vf *)(b + VW);

			storeu(t, LOW(re, im));
			storeu(t + VW, HIGH(re, im));
			continue;
		}
		for (uint32_t j = 0; j < count; j++) {
			t[2 * j] = s * b[j];
			t[2 * j + 1] = s * b[j + VW];
		}
	}
}

/* Squares of SQ x SQ complex numbers go through registers, the rest one by one. */
#define SQ (VW / 2)

static void lines_in(float *block, const float *const *from, uint32_t rows, const float *scale)
{
	uint32_t i = 0;

	for (; i + SQ <= rows; i += SQ) {
		vd lo[SQ];
		vd hi[SQ];

		UNROLL
		for (int k = 0; k < SQ; k++) {
			lo[k] = *(const vdu *)(from[k] + 2 * i);
			hi[k] = *(const vdu *)(from[k + SQ] + 2 * i);
		}
		transpose(lo);
		transpose(hi);
		UNROLL
		for (int k = 0; k < SQ; k++) {
			float *b = block + (size_t)(i + (uint32_t)k) * CELL;
			float s = scale != NULL ? scale[i + (uint32_t)k] : 1.0f;

			*(vf *)b = s * EVEN((vf)lo[k], (vf)hi[k]);
			*(vf *)(b + VW) = s * ODD((vf)lo[k], (vf)hi[k]);
		}
	}
	for (; i < rows; i++)
		for (uint32_t j = 0; j < VW; j++) {
			float s = scale != NULL ? scale[i] : 1.0f;

			block[(size_t)i * CELL + j] = s * from[j][2 * i];
			block[(size_t)i * CELL + j + VW] = s * from[j][2 * i + 1];
		}
}

static void lines_out(float *const *to, const float *block, uint32_t rows, const float *scale)
{
	uint32_t i = 0;

	for (; i + SQ <= rows; i += SQ) {
		vd lo[SQ];
		vd hi[SQ];

		UNROLL
		for (int k = 0; k < SQ; k++) {
			const float *b = block + (size_t)(i + (uint32_t)k) * CELL;
			float s = scale != NULL ? scale[i + (uint32_t)k] : 1.0f;
			vf re = s * *(const vf *)b;
			vf im = s * *(const vf *)(b + VW);

			lo[k] = (vd)LOW(re, im);
			hi[k] = (vd)HIGH(re, im);
		}
		transpose(lo);
		transpose(hi);
		UNROLL
		for (int k = 0; k < SQ; k++) {
			*(vdu *)(to[k] + 2 * i) = lo[k];
			*(vdu *)(to[k + SQ] + 2 * i) = hi[k];
		}
	}
	for (; i < rows; i++)
		for (uint32_t j = 0; j < VW; j++) {
			float s = scale != NULL ? scale[i] : 1.0f;

			to[j][2 * i] = s * block[(size_t)i * CELL + j];
			to[j][2 * i + 1] = s * block[(size_t)i * CELL + j + VW];
		}
}

static void cells_in(float *block, const float *const *from, uint32_t width, uint32_t rows,
		     const float *scale)
{
	for (uint32_t i = 0; i < rows; i++) {
		float *b = block + (size_t)i * CELL;
		float s = scale != NULL ? scale[i] : 1.0f;
		vf v[2] = { { 0 }, { 0 } };

		if (width == SQ) {
			v[0] = loadu(from[0] + (size_t)i * VW);
			v[1] = loadu(from[1] + (size_t)i * VW);
		} else {
			for (uint32_t k = 0; k < VW / width; k++)
				memcpy((float *)v + (size_t)k * 2 * width,
				       from[k] + (size_t)i * 2 * width, 2 * width * sizeof(float));
		}
		*(vf *)b = s * EVEN(v[0], v[1]);
		*(vf *)(b + VW) = s * ODD(v[0], v[1]);
	}
}

static void cells_out(float *const *to, uint32_t width, const float *block, uint32_t rows,
		      const float *scale)
{
	for (uint32_t i = 0; i < rows; i++) {
		const float *b = block + (size_t)i * CELL;
		float s = scale != NULL ? scale[i] : 1.0f;
		vf re = s * *(const vf *)b;
		vf im = s * *(const vf *)(b + VW);
		vf v[2] = { LOW(re, im), HIGH(re, im) };

		if (width == SQ) {
			storeu(to[0] + (size_t)i * VW, v[0]);
			storeu(to[1] + (size_t)i * VW, v[1]);
			continue;
		}
		for (uint32_t k = 0; k < VW / width; k++)
			memcpy(to[k] + (size_t)i * 2 * width,
			       (const float *)v + (size_t)k * 2 * width, 2 * width * sizeof(float));
	}
}

const struct bs_fft_kernels BS_ISA_NAME(bs_fft_kernels) = {
	.lanes = VW,
	.run = run,
	.cols_in = cols_in,
	.cols_out = cols_out,
	.lines_in = lines_in,
	.lines_out = lines_out,
	.cells_in = cells_in,
	.cells_out = cells_out,
};
