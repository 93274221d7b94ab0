/* gpu/toeplitz/toeplitz_simd.c - see toeplitz_simd.h */
#include "gpu/toeplitz/toeplitz_simd.h"

#include <string.h>

#include "gpu/fft/lines_loops.h"

/* Loads LANES interleaved complex values as a pair of vectors. Lanes from width on are zero. */
INLINE struct cx load_image(const float *p, uint32_t width)
{
	float part[2 * LANES] = { 0 };

	if (width < LANES) {
		memcpy(part, p, (size_t)width * 8);
		p = part;
	}
	vf a = loadu(p);
	vf b = loadu(p + LANES);

	return (struct cx){ EVEN(a, b), ODD(a, b) };
}

INLINE void store_image(float *p, struct cx v, uint32_t width)
{
	vf part[2] = { LOW(v.re, v.im), HIGH(v.re, v.im) };

	memcpy(p, part, (size_t)width * 8);
}

static void lines_in(const struct bs_line *l, const float *image,
		     const struct bs_toeplitz_lines *of, float *to,
		     const struct bs_toeplitz_work *w)
{
	const uint32_t n = of->n;
	uint32_t read = lines_read(l, n);
	float *b = w->block[0];

	for (uint32_t e = 0; e < n; e++, b += 2 * LANES) {
		struct cx v = load_image(image + 2 * e * of->stride, of->width);

		if (of->map != NULL) {
			struct cx m = load_image(of->map + 2 * e * of->stride, of->width);

			v = (struct cx){ v.re * m.re - v.im * m.im, v.re * m.im + v.im * m.re };
		}
		put(b, 0, 0, v);
	}
	if (read > n)
		memset(b, 0, (size_t)(read - n) * 2 * LANES * 4);
	lines_forward(l, w->block[0], to, w->block[1], n, l->size);
}

static void lines_out(const struct bs_line *l, const float *from, float *image,
		      const struct bs_toeplitz_lines *of, bool onto,
		      const struct bs_toeplitz_work *w)
{
	const uint32_t n = of->n;
	const float *b = w->block[0];

	lines_inverse(l, from, w->block[0], w->block[1], l->size, n);
	for (uint32_t e = 0; e < n; e++, b += 2 * LANES) {
		float *out = image + 2 * e * of->stride;
		struct cx v = get(b, 0, 0);

		if (of->map != NULL) {
			struct cx m = load_image(of->map + 2 * e * of->stride, of->width);

			v = (struct cx){ v.re * m.re + v.im * m.im, v.im * m.re - v.re * m.im };
		}
		if (onto)
			v = add(v, load_image(out, of->width));
		store_image(out, v, of->width);
	}
}

static void middle_in(const struct bs_line *l, const float *from, size_t stride, uint32_t n,
		      float *to, const struct bs_toeplitz_work *w)
{
	uint32_t read = lines_read(l, n);
	float *b = w->block[0];

	for (uint32_t e = 0; e < n; e++, b += 2 * LANES)
		memcpy(b, from + e * stride, 2 * LANES * 4);
	if (read > n)
		memset(b, 0, (size_t)(read - n) * 2 * LANES * 4);
	lines_forward(l, w->block[0], to, w->block[1], n, l->size);
}

static void middle_out(const struct bs_line *l, const float *from, float *to, size_t stride,
		       uint32_t n, const struct bs_toeplitz_work *w)
{
	lines_inverse(l, from, w->block[0], w->block[1], l->size, n);
	for (uint32_t e = 0; e < n; e++)
		memcpy(to + e * stride, w->block[0] + (size_t)e * 2 * LANES, 2 * LANES * 4);
}

/* Transposes one square of a block, elements to lanes; the same again transposes it back. */
INLINE void transpose_square(const float *from, float *to)
{
	for (int part = 0; part < 2 * LANES; part += LANES) {
		vf r[LANES];

#pragma GCC unroll 16
		for (int i = 0; i < LANES; i++)
			r[i] = loadu(from + i * 2 * LANES + part);
		transpose(r);
#pragma GCC unroll 16
		for (int i = 0; i < LANES; i++)
			storeu(to + i * 2 * LANES + part, r[i]);
	}
}

static void cross(const struct bs_line *l, float *p, size_t step, uint32_t n, const float *spectrum,
		  const struct bs_toeplitz_work *w)
{
	uint32_t squares = (n + LANES - 1) / LANES;
	uint32_t read = lines_read(l, n);
	float *a = w->block[0];
	float *b = w->block[1];

	for (uint32_t i = 0; i < squares; i++)
		transpose_square(p + i * step, a + (size_t)i * 2 * LANES * LANES);
	if (read > squares * LANES)
		memset(a + (size_t)squares * 2 * LANES * LANES, 0,
		       (size_t)(read - squares * LANES) * 2 * LANES * 4);
	lines_forward(l, a, b, w->block[2], n, l->size);
	for (uint32_t e = 0; e < l->size; e++) {
		vf s = loadu(spectrum + (size_t)e * LANES);
		struct cx v = get(b, e, 0);

		put(b, e, 0, (struct cx){ v.re * s, v.im * s });
	}
	lines_inverse(l, b, a, w->block[2], l->size, n);
	for (uint32_t i = 0; i < squares; i++)
		transpose_square(a + (size_t)i * 2 * LANES * LANES, p + i * step);
}

extern const struct bs_toeplitz_kernels BS_ISA_NAME(bs_toeplitz_kernels);
const struct bs_toeplitz_kernels BS_ISA_NAME(bs_toeplitz_kernels) = {
	LANES, lines_in, lines_out, middle_in, middle_out, cross,
};
