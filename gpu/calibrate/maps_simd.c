/* gpu/calibrate/maps_simd.c - see maps_simd.h; the eigenvectors are in eigen_loops.h */
#include "gpu/calibrate/maps_simd.h"
#include "gpu/device/simd.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef vf vec;
typedef int32_t mask __attribute__((vector_size(4 * VW), may_alias));

INLINE vec SQRT(vec x)
{
#if VW == 16
	return (vec)_mm512_sqrt_ps((__m512)x);
#elif VW == 8
	return (vec)_mm256_sqrt_ps((__m256)x);
#elif defined(__x86_64__)
	return (vec)_mm_sqrt_ps((__m128)x);
#else
	for (int l = 0; l < VW; l++)
		x[l] = sqrtf(x[l]);
	return x;
#endif
}

INLINE vec SELECT(mask m, vec a, vec b)
{
	return (vec)((m & (mask)a) | (~m & (mask)b));
}

INLINE int ANY(mask m)
{
	int32_t some = 0;

	for (int l = 0; l < VW; l++)
		some |= m[l];
	return some != 0;
}

#define FN          static __attribute__((noinline))
#define AT(p, i)    (p)[i]
#define ALL(x)      ((x) - (vec){ 0 })
#define AND(m, n)   ((m) & (n))
#define LEAST(a, b) SELECT((a) < (b), a, b)
#define MOST(a, b)  SELECT((a) > (b), a, b)
#include "gpu/calibrate/eigen_loops.h"

static void weigh_terms(float *to, const float *from, size_t stride, const float *unit,
			uint32_t terms, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += VW) {
		vec re = ALL(0.0f);
		vec im = ALL(0.0f);

		for (uint32_t k = 0; k < terms; k++) {
			const vec r = *(const vec *)(from + k * stride + i);
			const vec m = *(const vec *)(from + k * stride + n + i);

			re += r * unit[2 * k] - m * unit[2 * k + 1];
			im += r * unit[2 * k + 1] + m * unit[2 * k];
		}
		*(vec *)(to + i) = re;
		*(vec *)(to + n + i) = im;
	}
}

#define BATCH ((int)BS_MAPS_BATCH)
#define WIDE  (BATCH / VW)
/* vectors of a batch that are summed together, so that the sums fit the registers */
#define PART (WIDE < 4 ? WIDE : 4)

/* Computes v of the kernel's element that lies `at` samples from the first place. */
static void patch_one(const struct bs_maps_patch *p, size_t at, const float *u, float *v)
{
	for (int part = 0; part < WIDE; part += PART) {
		vec re[PART];
		vec im[PART];
		const float *row = u + part * VW;

		memset(re, 0, sizeof(re));
		memset(im, 0, sizeof(im));
		for (uint32_t z = 0; z < p->places[2]; z++)
			for (uint32_t y = 0; y < p->places[1]; y++) {
				const float *s =
					p->samples +
					2 * (at + ((size_t)z * p->block[1] + y) * p->block[0]);

				for (uint32_t x = 0; x < p->places[0]; x++, row += 2 * BATCH) {
					UNROLL
					for (int i = 0; i < PART; i++) {
						const vec r = *(const vec *)(row + i * VW);
						const vec m = *(const vec *)(row + BATCH + i * VW);

						re[i] += r * s[2 * x] - m * s[2 * x + 1];
						im[i] += r * s[2 * x + 1] + m * s[2 * x];
					}
				}
			}
		for (int i = 0; i < PART; i++) {
			*(vec *)(v + (part + i) * VW) = re[i];
			*(vec *)(v + BATCH + (part + i) * VW) = im[i];
		}
	}
}

static void patch(const struct bs_maps_patch *p, const float *u, float *v)
{
	for (uint32_t z = 0; z < p->kernel[2]; z++)
		for (uint32_t y = 0; y < p->kernel[1]; y++)
			for (uint32_t x = 0; x < p->kernel[0]; x++, v += 2 * BATCH)
				patch_one(p, ((size_t)z * p->block[1] + y) * p->block[0] + x, u, v);
}

INLINE float sum_lanes(vec a)
{
	float sum = 0.0f;

	for (int l = 0; l < VW; l++)
		sum += a[l];
	return sum;
}

static void outer(float *g, const float *f, size_t stride, uint32_t coils, uint32_t pairs)
{
	for (uint32_t c = 0, pair = 0; c < coils; c++)
		for (uint32_t d = 0; d <= c; d++, pair++) {
			const float *a = f + c * stride;
			const float *b = f + d * stride;
			vec re = ALL(0.0f);
			vec im = ALL(0.0f);

			UNROLL
			for (int i = 0; i < BATCH; i += VW) {
				const vec ar = *(const vec *)(a + i);
				const vec ai = *(const vec *)(a + BATCH + i);
				const vec br = *(const vec *)(b + i);
				const vec bi = *(const vec *)(b + BATCH + i);

				re += ar * br + ai * bi;
				im += ai * br - ar * bi;
			}
			g[pair] += sum_lanes(re);
			g[pairs + pair] += sum_lanes(im);
		}
}

/* Stores one map of a vector of voxels, its phase as the reference has it and cropped. */
static void store_map(const struct bs_maps_row *r, uint32_t set, uint32_t x, vec value,
		      const vec *map)
{
	const uint32_t n = r->n - x < VW ? r->n - x : VW;
	const mask kept = value >= ALL(r->crop);
	vec tr = ALL(0.0f);
	vec ti = ALL(0.0f);
	vec size;

	for (uint32_t c = 0; c < r->coils; c++) {
		const float wr = r->reference[2 * c];
		const float wi = r->reference[2 * c + 1];

		tr += map[2 * c] * wr + map[2 * c + 1] * wi;
		ti += map[2 * c + 1] * wr - map[2 * c] * wi;
	}
	size = tr * tr + ti * ti;
	tr = SELECT(size > ALL(NOTHING), tr, ALL(1.0f));
	ti = SELECT(size > ALL(NOTHING), -ti, ALL(0.0f));
	size = SELECT(kept, ALL(1.0f), ALL(0.0f)) / SQRT(tr * tr + ti * ti);
	tr *= size;
	ti *= size;
	for (uint32_t c = 0; c < r->coils; c++) {
		const vec re = map[2 * c] * tr - map[2 * c + 1] * ti;
		const vec im = map[2 * c] * ti + map[2 * c + 1] * tr;
		float *to = r->maps + 2 * (set * r->set_stride + c * r->coil_stride + x);
		vec both[2] = { LOW(re, im), HIGH(re, im) };

		memcpy(to, both, (size_t)n * 8);
	}
	if (r->values != NULL)
		memcpy(r->values + set * r->value_stride + x, &value, (size_t)n * 4);
}

/* Makes the maps of the matrices in scratch, for VW voxels from x on. */
static void largest(const struct bs_maps_row *r, uint32_t x, vec *a)
{
	const uint32_t C = r->coils;
	const uint32_t floats = 2 * bs_maps_pairs(C);
	vec *copy = a + floats;
	vec *rows = copy + floats;
	vec *map = rows + EIGEN_ROWS * C;

	for (uint32_t set = 0; set < r->sets; set++) {
		vec value;

		if (set > 0)
			memcpy(a, copy, floats * sizeof(vec));
		else if (r->sets > 1)
			memcpy(copy, a, floats * sizeof(vec));
		value = eigen_largest(a, (int)C, rows, map);
		store_map(r, set, x, value, map);
		if (set + 1 == r->sets)
			break;
		for (uint32_t c = 0, pair = 0; c < C; c++)
			for (uint32_t d = 0; d <= c; d++, pair++) {
				copy[2 * pair] -= value * (map[2 * c] * map[2 * d] +
							   map[2 * c + 1] * map[2 * d + 1]);
				copy[2 * pair + 1] -= value * (map[2 * c + 1] * map[2 * d] -
							       map[2 * c] * map[2 * d + 1]);
			}
	}
}

/*
 * Makes sums and differences of correlations, once a row. At lags +k and -k together a correlation
 * R contributes R(k) exp(-ikt) + R(-k) exp(ikt) = (R(k) + R(-k)) cos kt - i (R(k) - R(-k)) sin kt.
 */
static float *lags(float *to, const float *corr, uint32_t n, uint32_t pairs, uint32_t reach)
{
	const uint32_t per = 2 * reach + 1;

	for (uint32_t pair = 0; pair < pairs; pair++) {
		const float *re = corr + pair * per + reach;
		const float *im = re + n;

		*to++ = re[0];
		*to++ = im[0];
		for (uint32_t k = 1; k <= reach; k++) {
			*to++ = re[k] + re[-(int)k];
			*to++ = im[k] + im[-(int)k];
			*to++ = re[k] - re[-(int)k];
			*to++ = im[k] - im[-(int)k];
		}
	}
	return to;
}

static void correlated(const struct bs_maps_row *r, const float *corr, uint32_t n, uint32_t reach,
		       const float *phases, size_t phase_stride)
{
	const uint32_t pairs = bs_maps_pairs(r->coils);
	vec *a = (vec *)r->scratch;
	float *sums = r->scratch + BS_MAPS_PAD * (4 * (size_t)pairs + 12 * (size_t)r->coils);

	(void)lags(sums, corr, n, pairs, reach);
	for (uint32_t x = 0; x < r->n; x += VW) {
		vec unit[2 * BS_MAPS_REACH];
		const float *s = sums;

		for (uint32_t k = 0; k < 2 * reach; k++)
			unit[k] = *(const vec *)(phases + k * phase_stride + x);
		for (uint32_t pair = 0; pair < pairs; pair++, s += 2 + 4 * reach) {
			vec re = ALL(s[0]);
			vec im = ALL(s[1]);

			for (uint32_t k = 0; k < reach; k++) {
				re += unit[2 * k] * s[2 + 4 * k] + unit[2 * k + 1] * s[5 + 4 * k];
				im += unit[2 * k] * s[3 + 4 * k] - unit[2 * k + 1] * s[4 + 4 * k];
			}
			a[2 * pair] = re;
			a[2 * pair + 1] = im;
		}
		largest(r, x, a);
	}
}

static void covariance(const struct bs_maps_row *r, const float *images, uint32_t rows,
		       uint32_t width, uint32_t half)
{
	const size_t per_coil = (size_t)2 * width * rows;
	vec *a = (vec *)r->scratch;

	for (uint32_t x = 0; x < r->n; x += VW) {
		vec *to = a;

		for (uint32_t c = 0; c < r->coils; c++)
			for (uint32_t d = 0; d <= c; d++, to += 2) {
				const float *f = images + c * per_coil + x;
				const float *g = images + d * per_coil + x;
				vec re = ALL(0.0f);
				vec im = ALL(0.0f);

				for (uint32_t row = 0; row < rows; row++) {
					for (uint32_t i = 0; i <= 2 * half; i++) {
						const vec fr = loadu(f + i);
						const vec fi = loadu(f + width + i);
						const vec gr = loadu(g + i);
						const vec gi = loadu(g + width + i);

						re += fr * gr + fi * gi;
						im += fi * gr - fr * gi;
					}
					f += 2 * (size_t)width;
					g += 2 * (size_t)width;
				}
				to[0] = re;
				to[1] = im;
			}
		largest(r, x, a);
	}
}

extern const struct bs_maps_kernels BS_ISA_NAME(bs_maps_kernels);
const struct bs_maps_kernels BS_ISA_NAME(bs_maps_kernels) = { weigh_terms, patch, outer, correlated,
							      covariance };
