/* core/tool/compare.c - see compare.h */
#include "core/tool/compare.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

struct sums {
	double out2, ref2; /* squared norms of out and ref */
	double re, im;     /* real and imaginary part of <out, ref> = sum conj(out) ref */
	double peak2;      /* largest |ref|^2 */
};

static bool counts(const float *mask, uint64_t i)
{
	return mask == NULL || mask[2 * i] != 0.0f || mask[2 * i + 1] != 0.0f;
}

static void first_pass(struct bs_comparison *c, struct sums *s, const float *out, const float *ref,
		       const float *mask, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++) {
		double a = out[2 * i];
		double b = out[2 * i + 1];
		double x = ref[2 * i];
		double y = ref[2 * i + 1];

		if (!counts(mask, i))
			continue;
		c->values++;
		if (!isfinite(a) || !isfinite(b) || !isfinite(x) || !isfinite(y)) {
			c->not_finite++;
			continue;
		}
		s->out2 += a * a + b * b;
		s->ref2 += x * x + y * y;
		s->re += a * x + b * y;
		s->im += a * y - b * x;
		s->peak2 = fmax(s->peak2, x * x + y * y);
	}
}

static struct bs_difference difference(double e2, const struct sums *s, uint64_t values)
{
	struct bs_difference d;

	d.nrmse = e2 == 0.0 ? 0.0 : s->ref2 > 0.0 ? sqrt(e2 / s->ref2) : INFINITY;
	d.psnr_db = e2 == 0.0 ? INFINITY : 10.0 * log10(s->peak2 / (e2 / (double)values));
	return d;
}

int bs_compare(struct bs_comparison *c, const float *out, const float *ref, const float *mask,
	       uint64_t n, struct bs_fail *why)
{
	struct sums s = { 0 };
	double scaled2 = 0.0;
	double unscaled2 = 0.0;
	double magnitude2 = 0.0;
	double worst2 = 0.0;

	memset(c, 0, sizeof(*c));
	first_pass(c, &s, out, ref, mask, n);
	if (c->values == 0)
		return bs_fail(why, BS_ERR_SIZE, "the mask leaves none of %llu values",
			       (unsigned long long)n);
	if (c->not_finite > 0)
		return bs_fail(why, BS_ERR_VALUE, "%llu of %llu values are not finite",
			       (unsigned long long)c->not_finite, (unsigned long long)c->values);
	if (s.out2 > 0.0) {
		c->scale[0] = s.re / s.out2;
		c->scale[1] = s.im / s.out2;
	}
	for (uint64_t i = 0; i < n; i++) {
		double a = out[2 * i];
		double b = out[2 * i + 1];
		double x = ref[2 * i];
		double y = ref[2 * i + 1];
		double p = c->scale[0] * a - c->scale[1] * b;
		double q = c->scale[0] * b + c->scale[1] * a;
		double e2 = (p - x) * (p - x) + (q - y) * (q - y);
		double m = hypot(p, q) - hypot(x, y);

		if (!counts(mask, i))
			continue;
		scaled2 += e2;
		unscaled2 += (a - x) * (a - x) + (b - y) * (b - y);
		magnitude2 += m * m;
		worst2 = fmax(worst2, e2);
	}
	c->scaled = difference(scaled2, &s, c->values);
	c->unscaled = difference(unscaled2, &s, c->values);
	c->magnitude_nrmse = difference(magnitude2, &s, c->values).nrmse;
	c->max_abs = worst2 == 0.0 ? 0.0 : sqrt(worst2 / s.peak2);
	return 0;
}
