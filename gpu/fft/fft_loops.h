/*
 * gpu/fft/fft_loops.h - the transform of gpu/fft/fft.h, for the *_simd.c files that include it, in
 * float or in double as gpu/fft/pass_loops.h is
 */
#ifndef BS_GPU_FFT_FFT_LOOPS_H
#define BS_GPU_FFT_FFT_LOOPS_H

#include "gpu/fft/fft.h"
#include "gpu/fft/pass_loops.h"

/* Replaces legs j and r - j of a prime radix by their sum and their difference. */
static void pair_legs(real *x, size_t r, size_t step, size_t re)
{
	for (size_t j = 1; j <= r / 2; j++) {
		struct cx a = get(x, j * step, re);
		struct cx b = get(x, (r - j) * step, re);

		put(x, j * step, re, add(a, b));
		put(x, (r - j) * step, re, sub(a, b));
	}
}

/*
 * Computes outputs k and r - k of a prime radix from sums and differences: sum_j cos(jk) (x_j +
 * x_(r-j)) plus and minus i sin(jk) (x_j - x_(r-j)).
 */
static void prime_legs(struct cx out[2], const real *x, size_t r, size_t step, const real *root,
		       size_t k, size_t re)
{
	struct cx u = get(x, 0, re);
	struct cx v = { { 0 }, { 0 } };
	size_t at = 0;

	for (size_t j = 1; j <= r / 2; j++) {
		struct cx sum = get(x, j * step, re);
		struct cx difference = get(x, (r - j) * step, re);

		at += at + k < r ? k : k - r;
		u.re += root[2 * at] * sum.re;
		u.im += root[2 * at] * sum.im;
		v.re -= root[2 * at + 1] * difference.im;
		v.im += root[2 * at + 1] * difference.re;
	}
	out[0] = add(u, v);
	out[1] = sub(u, v);
}

/*
 * The pass of a prime radix of 7 or more; x is overwritten. It is rare: sizes are products of 2, 3
 * and 5.
 */
static void pass_any(const struct bs_fft_pass *p, real *x, real *y, size_t re)
{
	const real *w = p->twiddle;
	const size_t r = p->radix;
	const size_t m = p->groups;
	const size_t s = p->stride;

	for (size_t g = 0; g < m; g++, w += 2 * (r - 1))
		for (size_t q = 0; q < s; q++) {
			real *legs = x + (q + s * g) * CELL;
			struct cx out[2];

			pair_legs(legs, r, s * m, re);
			prime_legs(out, legs, r, s * m, p->root, 0, re);
			put(y, q + s * r * g, re, out[0]);
			for (size_t k = 1; k <= r / 2; k++) {
				prime_legs(out, legs, r, s * m, p->root, k, re);
				put(y, q + s * (r * g + k), re, mul(out[0], w + 2 * (k - 1)));
				put(y, q + s * (r * g + r - k), re,
				    mul(out[1], w + 2 * (r - k - 1)));
			}
		}
}

static real *run(const struct bs_fft *f, real *a, real *b, bool inverse)
{
	const size_t re = inverse ? LANES : 0;

	for (uint32_t i = 0; i < f->passes; i++) {
		const struct bs_fft_pass *p = &f->pass[i];
		real *t = a;

		switch (p->radix) {
		case 2:
			pass(2, 2, 2, a, b, p->groups, p->stride, p->twiddle, re, re);
			break;
		case 3:
			pass(3, 3, 3, a, b, p->groups, p->stride, p->twiddle, re, re);
			break;
		case 4:
			pass(4, 4, 4, a, b, p->groups, p->stride, p->twiddle, re, re);
			break;
		case 5:
			pass(5, 5, 5, a, b, p->groups, p->stride, p->twiddle, re, re);
			break;
		case 8:
			pass(8, 8, 8, a, b, p->groups, p->stride, p->twiddle, re, re);
			break;
		default:
			pass_any(p, a, b, re);
		}
		a = b;
		b = t;
	}
	return a;
}

#endif
