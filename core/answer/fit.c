/* core/answer/fit.c - see fit.h */
#include "core/answer/fit.h"

#include <math.h>

#define STEPS     8     /* steps of Newton's method at most; three do as a rule */
#define CONVERGED 1e-13 /* change of the slope, radians per sample */

double bs_fit_begin(const float *z, size_t n, size_t coils, size_t stride)
{
	double re = 0.0;
	double im = 0.0;

	for (size_t c = 0; c < coils; c++)
		for (size_t k = 0; k + 1 < n; k++) {
			const float *a = z + 2 * (c * stride + k);

			re += (double)a[0] * a[2] + (double)a[1] * a[3];
			im += (double)a[0] * a[3] - (double)a[1] * a[2];
		}
	return re != 0.0 || im != 0.0 ? atan2(im, re) : 0.0;
}

/* The sums over (k - middle)^j z_k exp(-ib(k - middle)), j = 0, 1, 2. */
struct sums {
	double re[3], im[3];
};

static void turn_back(struct sums *s, const double *z, size_t n, double slope)
{
	const double middle = 0.5 * (double)(n - 1);
	const double step[2] = { cos(slope), -sin(slope) };
	double turn[2] = { cos(slope * middle), sin(slope * middle) };

	*s = (struct sums){ { 0.0 }, { 0.0 } };
	for (size_t k = 0; k < n; k++) {
		const double re = z[2 * k] * turn[0] - z[2 * k + 1] * turn[1];
		const double im = z[2 * k] * turn[1] + z[2 * k + 1] * turn[0];
		const double from = (double)k - middle;
		const double next = turn[0] * step[0] - turn[1] * step[1];

		turn[1] = turn[0] * step[1] + turn[1] * step[0];
		turn[0] = next;
		s->re[0] += re;
		s->im[0] += im;
		s->re[1] += from * re;
		s->im[1] += from * im;
		s->re[2] += from * from * re;
		s->im[2] += from * from * im;
	}
}

/* Goes up |sum|^2 by Newton's method, as far as it is curved downwards. */
static double climb(struct sums *s, const double *z, size_t n, double slope)
{
	const double most = 2.0 * M_PI / 4.0 / (double)n;

	for (int i = 0; i < STEPS; i++) {
		double first;
		double second;
		double by;

		turn_back(s, z, n, slope);
		first = s->re[0] * s->im[1] - s->im[0] * s->re[1];
		second = s->re[1] * s->re[1] + s->im[1] * s->im[1] - s->re[0] * s->re[2] -
			 s->im[0] * s->im[2];
		by = second < 0.0 ? -first / second : copysign(most, first);
		by = fabs(by) > most ? copysign(most, by) : by;
		slope += by;
		if (fabs(by) < CONVERGED)
			break;
	}
	return slope;
}

/* Sums for the deviations: v is the noise's variance of a sample, from its weighted center. */
struct spread {
	double w, wd2, v, vd2, rest;
};

static struct spread spread_of(const double *z, size_t n, double slope, double phase, double center,
			       enum bs_fit_noise noise)
{
	const double begin = phase - 0.5 * slope * (double)(n - 1);
	const double step[2] = { cos(slope), sin(slope) };
	double turn[2] = { cos(begin), sin(begin) };
	struct spread s = { 0.0, 0.0, 0.0, 0.0, 0.0 };

	for (size_t k = 0; k < n; k++) {
		const double w = sqrt(z[2 * k] * z[2 * k] + z[2 * k + 1] * z[2 * k + 1]);
		const double off = z[2 * k + 1] * turn[0] - z[2 * k] * turn[1];
		const double d = (double)k - center;
		const double v = noise == BS_FIT_WHITE ? 1.0 : w;
		const double next = turn[0] * step[0] - turn[1] * step[1];

		turn[1] = turn[0] * step[1] + turn[1] * step[0];
		turn[0] = next;
		s.w += w;
		s.wd2 += w * d * d;
		s.v += v;
		s.vd2 += v * d * d;
		s.rest += v > 0.0 ? off * off / v : 0.0;
	}
	return s;
}

static double center_of(const double *z, size_t n)
{
	double sum = 0.0;
	double at = 0.0;

	for (size_t k = 0; k < n; k++) {
		const double w = sqrt(z[2 * k] * z[2 * k] + z[2 * k + 1] * z[2 * k + 1]);

		sum += w;
		at += w * (double)k;
	}
	return sum > 0.0 ? at / sum : 0.0;
}

bool bs_fit_line(struct bs_fit *f, const double *z, size_t n, double at, double begin,
		 enum bs_fit_noise noise)
{
	const double middle = 0.5 * (double)(n - 1);
	struct sums s;
	struct spread d;
	double slope;
	double phase;
	double off;

	if (n < 2)
		return false;
	slope = climb(&s, z, n, begin);
	turn_back(&s, z, n, slope);
	if (!(hypot(s.re[0], s.im[0]) > 0.0) || !isfinite(slope))
		return false;
	phase = atan2(s.im[0], s.re[0]);
	off = at - center_of(z, n);
	d = spread_of(z, n, slope, phase, at - off, noise);
	f->slope = remainder(slope, 2.0 * M_PI);
	f->phase = remainder(phase + slope * (at - middle), 2.0 * M_PI);
	if (n == 2 || !(d.wd2 > 0.0)) {
		f->slope_deviation = f->phase_deviation = INFINITY;
		return true;
	}
	d.rest /= (double)(n - 2);
	f->slope_deviation = sqrt(d.rest * d.vd2) / d.wd2;
	f->phase_deviation = sqrt(d.rest * d.v / (d.w * d.w) +
				  off * off * f->slope_deviation * f->slope_deviation);
	return true;
}
