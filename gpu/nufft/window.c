/* gpu/nufft/window.c - see window.h */
#define _GNU_SOURCE /* M_PI, j0 */
#include "gpu/nufft/window.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* J0 and I0 as one entire function of q = (beta^2)(1 - x^2): sum (q/4)^k / k!^2. */
static double bessel(double q)
{
	double sum = 1.0;
	double term = 1.0;

	if (q < 0.0)
		return j0(sqrt(-q));
	for (int k = 1; k < 200 && term > 1e-18 * sum; k++) {
		term *= q / (4.0 * k * k);
		sum += term;
	}
	return sum;
}

struct bs_window_shape bs_window_make(enum bs_window kind, double width, double oversampling)
{
	/* Only matrices of a few voxels have more; their optimum would trade roundoff for
	 * nothing. */
	double s = oversampling > 4.0 ? 4.0 : oversampling;
	struct bs_window_shape w = { kind, width, 0.0, oversampling };

	if (kind == BS_WINDOW_KAISER_BESSEL) {
		double q = width * width / (s * s) * (s - 0.5) * (s - 0.5) - 0.8;

		w.shape = M_PI * sqrt(q > 0.1 ? q : 0.1);
	} else {
		/* where the tail that is cut off equals the nearest alias at the field's edge:
		 * w^2/(8 s^2) = 2 pi^2 s^2 (1 - 1/oversampling) */
		w.shape = sqrt(width / (4.0 * M_PI)) / pow(1.0 - 1.0 / s, 0.25);
	}
	return w;
}

/* At x cells from the center: 1 there, and continued smoothly past +-width/2. */
static double value(const struct bs_window_shape *w, double x)
{
	double r = 2.0 * x / w->width;

	if (w->kind == BS_WINDOW_KAISER_BESSEL)
		return bessel(w->shape * w->shape * (1.0 - r * r)) / bessel(w->shape * w->shape);
	return exp(-x * x / (2.0 * w->shape * w->shape));
}

/* Gauss-Legendre, 16 nodes on each of 16 panels of the half width: exact to double precision for
 * the 6 x 12 / 2 oscillations of the highest frequency that is asked for. */
double bs_window_transform(const struct bs_window_shape *w, double v)
{
	static const double node[8] = { 0.0950125098376374402, 0.2816035507792589132,
					0.4580167776572273863, 0.6178762444026437484,
					0.7554044083550030339, 0.8656312023878317439,
					0.9445750230732325761, 0.9894009349916499326 };
	static const double weight[8] = { 0.1894506104550684963, 0.1826034150449235889,
					  0.1691565193950025382, 0.1495959888165767321,
					  0.1246289712555338720, 0.0951585116824927848,
					  0.0622535239386478929, 0.0271524594117540949 };
	const int panels = 16;
	double h = w->width / 4.0 / panels; /* half a panel */
	double sum = 0.0;

	if (w->kind == BS_WINDOW_KAISER_BESSEL) { /* closed form, and quicker */
		double b2 = w->shape * w->shape;
		double a = M_PI * w->width * v;
		double d = b2 - a * a;
		double s = sqrt(fabs(d));
		double f = s < 1e-6 ? 1.0 : (d > 0.0 ? sinh(s) : sin(s)) / s;

		return w->width * f / bessel(b2);
	}
	for (int p = 0; p < panels; p++)
		for (int i = 0; i < 16; i++) {
			double x = h * (2 * p + 1 + (i < 8 ? -node[i] : node[i - 8]));

			sum += weight[i % 8] * value(w, x) * cos(2.0 * M_PI * v * x);
		}
	return 2.0 * h * sum;
}

double bs_window_error(const struct bs_window_shape *w)
{
	const int points = 24;
	double sum = 0.0;

	for (int i = 0; i < points; i++) {
		double v = (i + 0.5) / points * 0.5 / w->oversampling;
		double h = bs_window_transform(w, v);

		for (int p = 1; p <= 3; p++) {
			double a = bs_window_transform(w, p - v) / h;
			double b = bs_window_transform(w, p + v) / h;

			sum += a * a + b * b;
		}
	}
	return sqrt(sum / points);
}

/* How much the division by the transform amplifies a grid cell's roundoff, root mean square as
 * above. A sample leaves roundoff in proportion to the window's l2 norm, white over the image, and
 * signal in proportion to the transform: wide windows with little oversampling lose the field's
 * edge to it. */
static double gain(const struct bs_window_shape *w)
{
	const int points = 24;
	double norm = 0.0;
	double sum = 0.0;

	for (int i = 0; i < 8 * points; i++) {
		double v = value(w, (i + 0.5) / (8 * points) * w->width / 2.0);

		norm += v * v * w->width / (8 * points);
	}
	for (int i = 0; i < points; i++) {
		double h = bs_window_transform(w, (i + 0.5) / points * 0.5 / w->oversampling);

		sum += norm / (h * h);
	}
	return sqrt(sum / points);
}

/* Chebyshev interpolation of the window over one tap's cell, as powers of t in [-1, 1]. */
static void fit(const struct bs_window_shape *w, uint32_t tap, uint32_t coefs, double *c)
{
	double cheb[BS_POLY_MAX];
	double prev[BS_POLY_MAX] = { 1.0 };
	double cur[BS_POLY_MAX] = { 0.0, 1.0 };

	for (uint32_t k = 0; k < coefs; k++) {
		cheb[k] = 0.0;
		for (uint32_t i = 0; i < coefs; i++) {
			double a = M_PI * (i + 0.5) / coefs;
			double x = 0.5 * (cos(a) + 1.0) + tap - w->width / 2.0;

			cheb[k] += value(w, x) * cos(k * a) * (k == 0 ? 1.0 : 2.0) / coefs;
		}
		c[k] = 0.0;
	}
	for (uint32_t k = 0; k < coefs; k++) { /* prev = T_k, cur = T_(k+1) */
		double next[BS_POLY_MAX] = { 0.0 };

		for (uint32_t i = 0; i < coefs; i++)
			c[i] += cheb[k] * prev[i];
		for (uint32_t i = 0; i < coefs; i++)
			next[i] = (i > 0 ? 2.0 * cur[i - 1] : 0.0) - prev[i];
		memcpy(prev, cur, sizeof(prev));
		memcpy(cur, next, sizeof(cur));
	}
}

static double misfit_of(const struct bs_window_shape *w, uint32_t tap, uint32_t coefs,
			const double *c)
{
	double worst = 0.0;

	for (int i = 0; i <= 64; i++) {
		double t = i / 32.0 - 1.0;
		double p = 0.0;

		for (uint32_t d = coefs; d-- > 0;)
			p = p * t + c[d];
		double e = fabs(p - value(w, 0.5 * (t + 1.0) + tap - w->width / 2.0));
		worst = e > worst ? e : worst;
	}
	return worst;
}

double bs_window_taps(struct bs_taps *taps, const struct bs_window_shape *w, uint32_t floats,
		      double misfit)
{
	uint32_t n = (uint32_t)ceil(w->width);
	double c[BS_TAPS_MAX][BS_POLY_MAX];
	double worst = 1.0;

	memset(taps, 0, sizeof(*taps));
	for (taps->coefs = 3; taps->coefs < BS_POLY_MAX; taps->coefs++) {
		worst = 0.0;
		for (uint32_t j = 0; j < n; j++) {
			fit(w, j, taps->coefs, c[j]);
			double e = misfit_of(w, j, taps->coefs, c[j]);
			worst = e > worst ? e : worst;
		}
		if (worst <= misfit)
			break;
	}
	if (taps->coefs == BS_POLY_MAX)
		taps->coefs--;
	for (uint32_t d = 0; d < taps->coefs; d++)
		for (uint32_t j = 0; j < n; j++) {
			taps->tap[j][taps->coefs - 1 - d] = (float)c[j][d];
			for (uint32_t k = 0; floats <= 4 && k < floats * (8 / floats); k++)
				taps->wide[k / floats][d][(j + k / floats) * floats + k % floats] =
					(float)c[j][d];
		}
	/* the last tap lies inside while f + n-1 - width/2 <= width/2 */
	taps->fractional = (double)n != w->width;
	taps->cut = taps->fractional ? (float)(2.0 * (w->width - (n - 1.0)) - 1.0) : 2.0f;
	return worst;
}

uint32_t bs_window_smooth(double n)
{
	for (uint32_t g = n < 1.0 ? 1u : (uint32_t)ceil(n - 1e-9);; g++) {
		uint32_t left = g;

		while (left % 2 == 0)
			left /= 2;
		while (left % 3 == 0)
			left /= 3;
		while (left % 5 == 0)
			left /= 5;
		if (left == 1)
			return g;
	}
}

/*
 * Nanoseconds of an adjoint and a forward on one core, near enough to rank choices; fitted to what
 * widths 5 to 8 took on an AMD EPYC (512-bit vectors, 1 MiB of second-level cache). A batch has at
 * most 8 coils; the rate of the FFT falls as the grid leaves the caches.
 */
static double cost(const struct bs_nufft_spec *s, uint32_t dims, uint32_t taps,
		   const uint32_t *grid)
{
	double coils = s->coils >= 8 ? 8.0 : s->coils;
	double rows = dims == 1 ? 1.0 : dims == 2 ? taps : (double)taps * taps;
	double row = dims == 3 ? 0.7 + 1.6 * coils : 1.27 + 0.28 * coils;
	double sample = 5.9 * coils - 1.9 + row * rows;
	double bytes = 8.0 * coils;
	double flops = 0.0;

	for (uint32_t a = dims; a-- > 0;) { /* lines along a: axes above it are already cropped */
		double lines = coils;

		for (uint32_t b = 0; b < dims; b++)
			if (b != a)
				lines *= b > a ? s->matrix[b] : grid[b];
		flops += 2.0 * lines * 5.0 * grid[a] * log2(grid[a] + 1.0);
		bytes *= grid[a];
	}
	return (double)s->samples * sample + flops / (bytes < 0x1p21   ? 80.0
						      : bytes < 0x1p24 ? 45.0
								       : 33.0);
}

static void grids(const struct bs_nufft_spec *s, uint32_t dims, double width, double oversampling,
		  uint32_t grid[3])
{
	for (uint32_t a = 0; a < 3; a++) {
		double least = 2.0 * ceil(width); /* so that a footprint wraps at most once */
		double n = oversampling * s->matrix[a];

		grid[a] = a < dims ? bs_window_smooth(n > least ? n : least) : 1;
	}
}

/* Aliasing at most half of what is asked for, and roundoff too, which single precision bounds. */
bool bs_window_accurate(const struct bs_nufft_spec *s, uint32_t dims, double width,
			const uint32_t grid[3])
{
	double roundoff = 5e-8; /* of a cell: 2^-24, as measured a little less over a window */
	double alias = 0.0;

	for (uint32_t a = 0; a < dims; a++) {
		struct bs_window_shape w =
			bs_window_make(s->window, width, (double)grid[a] / s->matrix[a]);
		double e = bs_window_error(&w);

		alias += e * e;
		roundoff *= gain(&w);
	}
	return sqrt(alias) <= 0.5 * s->accuracy &&
	       roundoff <= (s->accuracy < 4e-6 ? 2e-6 : 0.5 * s->accuracy);
}

int bs_window_choose(const struct bs_nufft_spec *s, uint32_t dims, double *width, uint32_t grid[3],
		     struct bs_fail *why)
{
	double best = INFINITY;

	if (s->accuracy == 0.0) {
		if (!(s->width >= BS_TAPS_MIN && s->width <= BS_TAPS_MAX))
			return bs_fail(why, BS_ERR_CONFIG, "window width %g cells: %u to %u",
				       s->width, BS_TAPS_MIN, BS_TAPS_MAX);
		if (!(s->oversampling >= 1.25 && s->oversampling <= 2.0))
			return bs_fail(why, BS_ERR_CONFIG, "oversampling %g: 1.25 to 2",
				       s->oversampling);
		*width = s->width;
		grids(s, dims, *width, s->oversampling, grid);
		return 0;
	}
	if (!(s->accuracy >= 1e-6 && s->accuracy <= 1e-1))
		return bs_fail(why, BS_ERR_CONFIG, "accuracy %g: 1e-6 to 1e-1", s->accuracy);
	for (uint32_t taps = BS_TAPS_MIN; taps <= BS_TAPS_MAX; taps++)
		for (uint32_t step = 20; step <= 32; step++) {
			double o = step / 16.0; /* 1.25 to 2 */
			uint32_t g[3];
			double c;

			grids(s, dims, taps, o, g);
			c = cost(s, dims, taps, g);
			if (c < best && bs_window_accurate(s, dims, taps, g)) {
				best = c;
				*width = taps;
				memcpy(grid, g, sizeof(g));
			}
		}
	if (best == INFINITY)
		return bs_fail(why, BS_ERR_CONFIG,
			       "accuracy %g is out of reach of this window up to width %u and "
			       "oversampling 2",
			       s->accuracy, BS_TAPS_MAX);
	return 0;
}
