/*
 * gpu/fft/lines_loops.h - the transform of gpu/fft/lines.h, for the *_simd.c files that include it
 *
 * lines_forward, lines_inverse: src, dst, tmp are three different blocks of line->size elements;
 * the result is in dst, src is kept. used: elements of src from there on are zero and not read
 * (but those up to size/2 must be there as zeros). wanted: elements of dst from there on are not.
 * No scaling. Inverse: exp(+i...), by exchanging real and imaginary parts on the way in and out.
 */
#ifndef BS_GPU_FFT_LINES_LOOPS_H
#define BS_GPU_FFT_LINES_LOOPS_H

#include <stdint.h>
#include <string.h>

#include "gpu/fft/lines.h"
#include "gpu/device/simd.h"

#define LANES VW

typedef float vec __attribute__((vector_size(4 * LANES)));
struct cvec {
	vec re, im;
};

INLINE vec all(float x)
{
	return x - (vec){ 0 }; /* exact, and leaves a plain broadcast */
}

INLINE vec load(const float *p)
{
	vec v;

	memcpy(&v, p, sizeof(v));
	return v;
}

INLINE void store(float *p, vec v)
{
	memcpy(p, &v, sizeof(v));
}

/* o: 0, or LANES to exchange real and imaginary parts. */
INLINE struct cvec load2(const float *p, int o)
{
	return (struct cvec){ load(p + o), load(p + LANES - o) };
}

INLINE void store2(float *p, int o, struct cvec v)
{
	store(p + o, v.re);
	store(p + LANES - o, v.im);
}

INLINE struct cvec plus(struct cvec a, struct cvec b)
{
	return (struct cvec){ a.re + b.re, a.im + b.im };
}

INLINE struct cvec minus(struct cvec a, struct cvec b)
{
	return (struct cvec){ a.re - b.re, a.im - b.im };
}

/* a - i b */
INLINE struct cvec minus_i(struct cvec a, struct cvec b)
{
	return (struct cvec){ a.re + b.im, a.im - b.re };
}

/* a + i b */
INLINE struct cvec plus_i(struct cvec a, struct cvec b)
{
	return (struct cvec){ a.re - b.im, a.im + b.re };
}

INLINE struct cvec times(struct cvec a, float re, float im)
{
	vec c = all(re);
	vec s = all(im);

	return (struct cvec){ a.re * c - a.im * s, a.re * s + a.im * c };
}

INLINE struct cvec scaled(struct cvec a, float by)
{
	return (struct cvec){ a.re * all(by), a.im * all(by) };
}

INLINE void dft2(struct cvec *v)
{
	struct cvec a = v[0];

	v[0] = plus(a, v[1]);
	v[1] = minus(a, v[1]);
}

INLINE void dft3(struct cvec *v)
{
	const float s = 0.86602540378443864676f; /* sin 60 degrees */
	struct cvec t = plus(v[1], v[2]);
	struct cvec d = scaled(minus(v[1], v[2]), s);
	struct cvec m = plus(v[0], scaled(t, -0.5f));

	v[0] = plus(v[0], t);
	v[1] = minus_i(m, d);
	v[2] = plus_i(m, d);
}

INLINE void dft4(struct cvec *v)
{
	struct cvec a = plus(v[0], v[2]);
	struct cvec b = minus(v[0], v[2]);
	struct cvec c = plus(v[1], v[3]);
	struct cvec d = minus(v[1], v[3]);

	v[0] = plus(a, c);
	v[1] = minus_i(b, d);
	v[2] = minus(a, c);
	v[3] = plus_i(b, d);
}

INLINE void dft5(struct cvec *v)
{
	const float c1 = 0.30901699437494742410f, c2 = -0.80901699437494742410f;
	const float s1 = 0.95105651629515357212f, s2 = 0.58778525229247312917f;
	struct cvec a = plus(v[1], v[4]);
	struct cvec b = plus(v[2], v[3]);
	struct cvec c = minus(v[1], v[4]);
	struct cvec d = minus(v[2], v[3]);
	struct cvec m1 = plus(v[0], plus(scaled(a, c1), scaled(b, c2)));
	struct cvec m2 = plus(v[0], plus(scaled(a, c2), scaled(b, c1)));
	struct cvec n1 = plus(scaled(c, s1), scaled(d, s2));
	struct cvec n2 = minus(scaled(c, s2), scaled(d, s1));

	v[0] = plus(v[0], plus(a, b));
	v[1] = minus_i(m1, n1);
	v[4] = plus_i(m1, n1);
	v[2] = minus_i(m2, n2);
	v[3] = plus_i(m2, n2);
}

INLINE void dft8(struct cvec *v)
{
	const float h = 0.70710678118654752440f;
	struct cvec e[4] = { v[0], v[2], v[4], v[6] };
	struct cvec o[4] = { v[1], v[3], v[5], v[7] };
	struct cvec t1;
	struct cvec t3;

	dft4(e);
	dft4(o);
	/* o[1] (1 - i)/sqrt 2, o[2] (-i), o[3] (-1 - i)/sqrt 2 */
	t1 = (struct cvec){ (o[1].re + o[1].im) * all(h), (o[1].im - o[1].re) * all(h) };
	t3 = (struct cvec){ (o[3].im - o[3].re) * all(h), (o[3].re + o[3].im) * all(-h) };
	v[0] = plus(e[0], o[0]);
	v[4] = minus(e[0], o[0]);
	v[1] = plus(e[1], t1);
	v[5] = minus(e[1], t1);
	v[2] = minus_i(e[2], o[2]);
	v[6] = plus_i(e[2], o[2]);
	v[3] = plus(e[3], t3);
	v[7] = minus(e[3], t3);
}

/*
 * One pass: n is the length that is left, s the number of transforms of that length. Legs from in
 * on are zero, legs from out on are not wanted; radix, in, out are constants where this is called.
 */
INLINE void pass(int radix, int in, int out, const float *x, float *y, uint32_t n, uint32_t s,
		 const float *factor, int from, int to)
{
	const size_t m = n / (uint32_t)radix;

	for (size_t p = 0; p < m; p++, factor += 2 * (radix - 1))
		for (size_t q = 0; q < s; q++) {
			struct cvec v[8];

#pragma GCC unroll 8
			for (int leg = 0; leg < radix; leg++)
				v[leg] = leg < in ? load2(x + (q + s * (p + m * (size_t)leg)) * 2 *
									  LANES,
							  from)
						  : (struct cvec){ { 0 }, { 0 } };
			if (radix == 2)
				dft2(v);
			else if (radix == 3)
				dft3(v);
			else if (radix == 4)
				dft4(v);
			else if (radix == 5)
				dft5(v);
			else
				dft8(v);
#pragma GCC unroll 8
			for (int leg = 0; leg < out; leg++)
				store2(y + (q + s * ((size_t)radix * p + (size_t)leg)) * 2 * LANES,
				       to,
				       leg == 0 || m == 1 ? v[leg]
							  : times(v[leg], factor[2 * leg - 2],
								  factor[2 * leg - 1]));
		}
}

/* Passes of full legs, and the first and the last ones with half of them. */
#define PASSES(radix)                                                                              \
	static void pass##radix(const float *x, float *y, uint32_t n, uint32_t s,                  \
				const float *factor, int from, int to, int half_in, int half_out)  \
	{                                                                                          \
		if (half_in)                                                                       \
			pass(radix, radix / 2, radix, x, y, n, s, factor, from, to);               \
		else if (half_out)                                                                 \
			pass(radix, radix, radix / 2, x, y, n, s, factor, from, to);               \
		else                                                                               \
			pass(radix, radix, radix, x, y, n, s, factor, from, to);                   \
	}
PASSES(2)
PASSES(4)
PASSES(8)
#undef PASSES

static void pass3(const float *x, float *y, uint32_t n, uint32_t s, const float *factor, int from,
		  int to)
{
	pass(3, 3, 3, x, y, n, s, factor, from, to);
}

static void pass5(const float *x, float *y, uint32_t n, uint32_t s, const float *factor, int from,
		  int to)
{
	pass(5, 5, 5, x, y, n, s, factor, from, to);
}

/* Elements of src that a transform of this size reads when `used` of them are not zero. */
INLINE uint32_t lines_read(const struct bs_line *l, uint32_t used)
{
	return l->passes > 1 && l->radix[0] % 2 == 0 && used <= l->size / 2 ? l->size / 2 : l->size;
}

static void lines_transform(const struct bs_line *l, const float *src, float *dst, float *tmp,
			    uint32_t used, uint32_t wanted, int exchange)
{
	const float *x = src;
	uint32_t n = l->size;
	uint32_t s = 1;

	for (uint32_t i = 0; i < l->passes; i++) {
		uint32_t radix = l->radix[i];
		float *y = (l->passes - 1 - i) % 2 == 0 ? dst : tmp;
		int last = i + 1 == l->passes;
		int from = i == 0 ? exchange : 0;
		int to = last ? exchange : 0;
		int half_in = i == 0 && !last && lines_read(l, used) < l->size;
		int half_out = last && i != 0 && wanted <= l->size / 2;

		switch (radix) {
		case 2:
			pass2(x, y, n, s, l->factor[i], from, to, half_in, half_out);
			break;
		case 3:
			pass3(x, y, n, s, l->factor[i], from, to);
			break;
		case 4:
			pass4(x, y, n, s, l->factor[i], from, to, half_in, half_out);
			break;
		case 5:
			pass5(x, y, n, s, l->factor[i], from, to);
			break;
		default:
			pass8(x, y, n, s, l->factor[i], from, to, half_in, half_out);
		}
		x = y;
		n /= radix;
		s *= radix;
	}
}

INLINE void lines_forward(const struct bs_line *l, const float *src, float *dst, float *tmp,
			  uint32_t used, uint32_t wanted)
{
	lines_transform(l, src, dst, tmp, used, wanted, 0);
}

INLINE void lines_inverse(const struct bs_line *l, const float *src, float *dst, float *tmp,
			  uint32_t used, uint32_t wanted)
{
	lines_transform(l, src, dst, tmp, used, wanted, LANES);
}

/*
 * LANES vectors as the rows of a square, transposed: each step rotates the bits of (row, lane) by
 * one, so that as many steps as a lane number has bits exchange them.
 */
INLINE void transpose(vec *r)
{
#pragma GCC unroll 4
	for (int step = 1; step < LANES; step *= 2) {
		vec t[LANES];

#pragma GCC unroll 8
		for (int i = 0; i < LANES / 2; i++) {
			t[2 * i] = LOW(r[i], r[i + LANES / 2]);
			t[2 * i + 1] = HIGH(r[i], r[i + LANES / 2]);
		}
#pragma GCC unroll 16
		for (int i = 0; i < LANES; i++)
			r[i] = t[i];
	}
}

#endif
