/*
 * gpu/fft/fft_loops.h - the transform of gpu/fft/fft.h, for the *_simd.c files that include it
 *
 * They say first what a number is: real (float or double), vr (a vector of it), LANES (its lanes).
 * A block is [index][re lanes][im lanes], so that a butterfly is plain vector arithmetic without
 * a shuffle; the inverse transform is the forward one with re and im exchanged.
 */
#ifndef BS_GPU_FFT_FFT_LOOPS_H
#define BS_GPU_FFT_FFT_LOOPS_H

#include "gpu/fft/fft.h"

#define CELL (2 * LANES) /* numbers of one index */

struct cx {
	vr re, im;
};

INLINE struct cx get(const real *x, size_t i, size_t re, size_t im)
{
	return (struct cx){ *(const vr *)(x + i * CELL + re), *(const vr *)(x + i * CELL + im) };
}

INLINE void put(real *y, size_t i, size_t re, size_t im, struct cx v)
{
	*(vr *)(y + i * CELL + re) = v.re;
	*(vr *)(y + i * CELL + im) = v.im;
}

INLINE struct cx add(struct cx a, struct cx b)
{
	return (struct cx){ a.re + b.re, a.im + b.im };
}

INLINE struct cx sub(struct cx a, struct cx b)
{
	return (struct cx){ a.re - b.re, a.im - b.im };
}

INLINE struct cx mul(struct cx a, const real *w)
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
	const real s = (real)0.866025403784438647;
	struct cx t = add(a[1], a[2]);
	struct cx u = sub(a[1], a[2]);
	struct cx m = { a[0].re - (real)0.5 * t.re, a[0].im - (real)0.5 * t.im };

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
	const real c1 = (real)0.309016994374947424;
	const real c2 = (real)-0.809016994374947424;
	const real s1 = (real)0.951056516295153572;
	const real s2 = (real)0.587785252292473129;
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
	const real h = (real)0.707106781186547524;
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
INLINE void pass(const struct bs_fft_pass *p, int r, const real *x, real *y, size_t re, size_t im)
{
	const size_t m = p->groups;
	const size_t s = p->stride;

	for (size_t g = 0; g < m; g++) {
		const real *w = (const real *)p->twiddle + 2 * g * (size_t)(r - 1);

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

/* Legs j and r - j of a prime radix become their sum and their difference, in place. */
static void pair_legs(real *x, size_t r, size_t step, size_t re, size_t im)
{
	for (size_t j = 1; j <= r / 2; j++) {
		struct cx a = get(x, j * step, re, im);
		struct cx b = get(x, (r - j) * step, re, im);

		put(x, j * step, re, im, add(a, b));
		put(x, (r - j) * step, re, im, sub(a, b));
	}
}

/*
 * Legs k and r - k of the transform, from sums and differences: sum_j cos(jk) (x_j + x_(r-j)), and
 * i sin(jk) (x_j - x_(r-j)) to it and from it.
 */
static void prime_legs(struct cx out[2], const real *x, size_t r, size_t step, const real *root,
		       size_t k, size_t re, size_t im)
{
	struct cx u = get(x, 0, re, im);
	struct cx v = { { 0 }, { 0 } };
	size_t turn = 0;

	for (size_t j = 1; j <= r / 2; j++) {
		struct cx sum = get(x, j * step, re, im);
		struct cx difference = get(x, (r - j) * step, re, im);

		turn += turn + k < r ? k : k - r;
		u.re += root[2 * turn] * sum.re;
		u.im += root[2 * turn] * sum.im;
		v.re -= root[2 * turn + 1] * difference.im;
		v.im += root[2 * turn + 1] * difference.re;
	}
	out[0] = add(u, v);
	out[1] = sub(u, v);
}

/* A prime radix of 7 or more; x is overwritten. Rare: sizes come from 2, 3 and 5. */
static void pass_any(const struct bs_fft_pass *p, real *x, real *y, size_t re, size_t im)
{
	const real *w = p->twiddle;
	const size_t r = p->radix;
	const size_t m = p->groups;
	const size_t s = p->stride;

	for (size_t g = 0; g < m; g++, w += 2 * (r - 1))
		for (size_t q = 0; q < s; q++) {
			real *legs = x + (q + s * g) * CELL;
			struct cx out[2];

			pair_legs(legs, r, s * m, re, im);
			prime_legs(out, legs, r, s * m, p->root, 0, re, im);
			put(y, q + s * r * g, re, im, out[0]);
			for (size_t k = 1; k <= r / 2; k++) {
				prime_legs(out, legs, r, s * m, p->root, k, re, im);
				put(y, q + s * (r * g + k), re, im, mul(out[0], w + 2 * (k - 1)));
				put(y, q + s * (r * g + r - k), re, im,
				    mul(out[1], w + 2 * (r - k - 1)));
			}
		}
}

static real *run(const struct bs_fft *f, real *a, real *b, bool inverse)
{
	const size_t re = inverse ? LANES : 0;
	const size_t im = inverse ? 0 : LANES;

	for (uint32_t i = 0; i < f->passes; i++) {
		const struct bs_fft_pass *p = &f->pass[i];
		real *t = a;

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

#endif
