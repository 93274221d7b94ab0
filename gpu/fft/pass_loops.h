/*
 * gpu/fft/pass_loops.h - one pass of a transform of columns, for the *_simd.c files that include it
 *
 * The including file first defines real (float or double), vr (a vector of real), LANES (its
 * lanes), and PAIRS_FIRST: a transform of five adds its products up before it adds them to its
 * first leg (1), or adds them one by one (0); this changes rounding alone.
 * A block is [index][re lanes][im lanes], so that a butterfly is plain vector arithmetic without
 * a shuffle. The inverse transform is the forward one with re and im exchanged.
 * Source: Van Loan, Computational Frameworks for the FFT, SIAM 1992 (section 1.7: Stockham's form).
 */
#ifndef BS_GPU_FFT_PASS_LOOPS_H
#define BS_GPU_FFT_PASS_LOOPS_H

#include <stddef.h>

#include "gpu/device/simd.h"

#define CELL (2 * LANES) /* reals of one index: real and imaginary parts of all lanes */

struct cx {
	vr re, im;
};

/* Reads a cell. re: offset of the real parts: 0; or LANES, which exchanges real
 * and imaginary parts. */
INLINE struct cx get(const real *x, size_t i, size_t re)
{
	return (struct cx){ *(const vr *)(x + i * CELL + re),
			    *(const vr *)(x + i * CELL + LANES - re) };
}

INLINE void put(real *y, size_t i, size_t re, struct cx v)
{
	*(vr *)(y + i * CELL + re) = v.re;
	*(vr *)(y + i * CELL + LANES - re) = v.im;
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

INLINE struct cx minus_i(struct cx a) /* Returns -i a. */
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

INLINE struct cx scaled(struct cx a, real by)
{
	return (struct cx){ a.re * by, a.im * by };
}

INLINE void bf5(struct cx *a)
{
	const real c1 = (real)0.309016994374947424;
	const real c2 = (real)-0.809016994374947424;
	const real s1 = (real)0.951056516295153572;
	const real s2 = (real)0.587785252292473129;
	struct cx p1 = add(a[1], a[4]);
	struct cx p2 = add(a[2], a[3]);
	struct cx m1 = sub(a[1], a[4]);
	struct cx m2 = sub(a[2], a[3]);
#if PAIRS_FIRST
	struct cx u1 = add(a[0], add(scaled(p1, c1), scaled(p2, c2)));
	struct cx u2 = add(a[0], add(scaled(p1, c2), scaled(p2, c1)));
	struct cx v1 = add(scaled(m1, s1), scaled(m2, s2));
	struct cx v2 = sub(scaled(m1, s2), scaled(m2, s1));
#else
	struct cx u1 = { a[0].re + c1 * p1.re + c2 * p2.re, a[0].im + c1 * p1.im + c2 * p2.im };
	struct cx u2 = { a[0].re + c2 * p1.re + c1 * p2.re, a[0].im + c2 * p1.im + c1 * p2.im };
	struct cx v1 = { s1 * m1.re + s2 * m2.re, s1 * m1.im + s2 * m2.im };
	struct cx v2 = { s2 * m1.re - s1 * m2.re, s2 * m1.im - s1 * m2.im };
#endif

	a[0] = add(a[0], add(p1, p2));
	a[1] = add(u1, minus_i(v1));
	a[4] = sub(u1, minus_i(v1));
	a[2] = add(u2, minus_i(v2));
	a[3] = sub(u2, minus_i(v2));
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

/*
 * y[q + s(r g + k)] = w^(gk) sum_j x[q + s(g + j m)] e^(-i2pi jk/r), g < m, q < s; w: the twiddles
 * [g][r - 1]. Legs j from `in` on are zero; outputs k from `out` on are not computed. from, to: the
 * re of get, for x and y. r, in and out are constants at each call.
 */
INLINE void pass(int r, int in, int out, const real *x, real *y, size_t m, size_t s, const real *w,
		 size_t from, size_t to)
{
	for (size_t g = 0; g < m; g++, w += 2 * (r - 1))
		for (size_t q = 0; q < s; q++) {
			struct cx a[8];

			UNROLL
			for (int j = 0; j < r; j++)
				a[j] = j < in ? get(x, q + s * (g + (size_t)j * m), from)
					      : (struct cx){ { 0 }, { 0 } };
			bf(a, r);
			put(y, q + s * (size_t)r * g, to, a[0]);
			UNROLL
			for (int k = 1; k < out; k++)
				put(y, q + s * ((size_t)r * g + (size_t)k), to,
				    g == 0 ? a[k] : mul(a[k], w + 2 * (k - 1)));
		}
}

#endif
