/* gpu/nufft/window.c - see window.h */
#include "gpu/nufft/window.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/*
 * The window in a cell that it covers, numbered from its lower end: about 1 at the center, and
 * continued smoothly past the upper end.
 */
static double value(const struct bs_window_shape *w, uint32_t tap, double place)
{
	return w->flat ? bs_window_flat_value(w, tap, place)
		       : bs_window_plain_value(w, place + tap - w->width / 2.0);
}

double bs_window_transform(const struct bs_window_shape *w, double v)
{
	return w->flat ? bs_window_flat_transform(w, v) : bs_window_plain_transform(w, v);
}

/*
 * Samples the window at PLACES places between two cells, the lower end among them, [place][tap].
 * Returns its l2 norm.
 */
#define PLACES 16

static double places(const struct bs_window_shape *w, double at[PLACES][BS_TAPS_MAX])
{
	double norm = 0.0;

	for (int i = 0; i < PLACES; i++)
		for (uint32_t j = 0; j < BS_TAPS_MAX; j++) {
			const double place = (double)i / PLACES;

			at[i][j] = place + j < w->width ? value(w, j, place) : 0.0;
			norm += at[i][j] * at[i][j] / PLACES;
		}
	return sqrt(norm);
}

void bs_window_errors(struct bs_window_error *e, const struct bs_window_shape *w)
{
	/* frequencies, closer towards the edge, where the errors' last lobe is narrow */
	const int points = 16;
	const uint32_t taps = (uint32_t)ceil(w->width);
	double at[PLACES][BS_TAPS_MAX];
	double of_place[PLACES] = { 0.0 };
	const double norm = places(w, at);

	memset(e, 0, sizeof(*e));
	for (int p = 0; p <= points; p++) {
		const double v =
			(1.0 - (double)(p * p) / (points * points)) * 0.5 / w->oversampling;
		const double h = bs_window_transform(w, v);
		/*
		 * share of the field at this frequency: half the way to the frequencies before and
		 * after
		 */
		const double share = (p == 0        ? 0.5
				      : p == points ? points - 0.5
						    : 2.0 * p) /
				     (points * points);
		double sum = 0.0;

		for (int i = 0; i < PLACES; i++) {
			double re = -1.0;
			double im = 0.0;

			for (uint32_t j = 0; j < taps; j++) {
				double a =
					2.0 * M_PI * v * ((double)i / PLACES + j - w->width / 2.0);

				re += at[i][j] * cos(a) / h;
				im += at[i][j] * sin(a) / h;
			}
			const double square = re * re + im * im;

			sum += square / PLACES;
			of_place[i] += square * share;
			e->most = fmax(e->most, sqrt(square));
		}
		e->rms = fmax(e->rms, sqrt(sum));
		e->gain = fmax(e->gain, norm / fabs(h));
		e->least = p == 0 ? fabs(h) : fmin(e->least, fabs(h));
	}
	for (int i = 0; i < PLACES; i++)
		e->rms = fmax(e->rms, sqrt(of_place[i]));
}

struct bs_window_shape bs_window_make(enum bs_window kind, double width, double oversampling)
{
	const struct bs_window_shape kb = bs_window_plain(kind, width, oversampling);
	struct bs_window_shape flat = kb;
	struct bs_window_error before;
	struct bs_window_error after;

	/* only a whole number of cells and oversampling up to 4 gain from a flat window */
	if (kind != BS_WINDOW_KAISER_BESSEL || width != floor(width) || oversampling > 4.0)
		return kb;
	bs_window_flatten(&flat);
	bs_window_errors(&before, &kb);
	bs_window_errors(&after, &flat);
	return after.rms < before.rms && after.most < before.most && after.gain < 1.05 * before.gain
		       ? flat
		       : kb;
}

double bs_window_misfit(const struct bs_window_shape *w, double accuracy)
{
	struct bs_window_error e;

	bs_window_errors(&e, w); /* misfits of taps may have either sign */
	return fmax(1e-8, 0.05 * (accuracy > 0.0 ? accuracy : e.rms) * e.least / sqrt(w->width));
}

/* Fits the window over one tap's cell by Chebyshev interpolation, as powers of t in [-1, 1]. */
static void fit_tap(const struct bs_window_shape *w, uint32_t tap, uint32_t coefs, double *c)
{
	double cheb[BS_POLY_MAX];
	double prev[BS_POLY_MAX] = { 1.0 };
	double cur[BS_POLY_MAX] = { 0.0, 1.0 };

	for (uint32_t k = 0; k < coefs; k++) {
		cheb[k] = 0.0;
		for (uint32_t i = 0; i < coefs; i++) {
			double a = M_PI * (i + 0.5) / coefs;

			cheb[k] += value(w, tap, 0.5 * (cos(a) + 1.0)) * cos(k * a) *
				   (k == 0 ? 1.0 : 2.0) / coefs;
		}
		c[k] = 0.0;
	}
	for (uint32_t k = 0; k < coefs; k++) { /* here prev = T_k and cur = T_(k+1) */
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
		double e = fabs(p - value(w, tap, 0.5 * (t + 1.0)));
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
			fit_tap(w, j, taps->coefs, c[j]);
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
	/* The last tap lies inside the window while f + n-1 - width/2 <= width/2. */
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
 * Estimates nanoseconds of an adjoint and a forward on one core, well enough to rank choices. It is
 * fitted to the times of widths 5 to 8 on an AMD EPYC (512-bit vectors, 1 MiB of second-level
 * cache). A batch has at most 8 coils; the rate of the FFT falls as the grid leaves the caches.
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
		/* cells of the least grid, where a footprint wraps at most once */
		double least = 2.0 * ceil(width);
		double n = oversampling * s->matrix[a];

		grid[a] = a < dims ? bs_window_smooth(n > least ? n : least) : 1;
	}
}

/*
 * Roundoff relative to the root mean square, as measured over sizes and trajectories (2^-24 is
 * 6e-8). cell: roundoff of a grid cell in spreading and in the transform, which deapodization
 * amplifies (CUDA's transforms make powers of a root). row: roundoff of a sum over a window's rows,
 * by the root of their number (CUDA sums plane by plane: the rows of a plane, then the planes).
 */
static const struct {
	double cell, row;
	bool planes;
} roundoffs[] = {
	[BS_WINDOW_HOST] = { 1.4e-7, 2.7e-8, false },
	[BS_WINDOW_CUDA] = { 2.8e-7, 2.7e-8, true },
};

typedef struct bs_window_shape (*make_fn)(enum bs_window kind, double width, double oversampling);

static double reach(const struct bs_nufft_spec *s, uint32_t dims, double width,
		    const uint32_t grid[3], enum bs_window_side side, make_fn make)
{
	const double rows = roundoffs[side].planes ? width * (dims - 1.0) : pow(width, dims - 1.0);
	struct bs_window_error e[3];
	double roundoff = roundoffs[side].cell;
	double square = pow(roundoffs[side].row, 2.0) * rows;

	for (uint32_t a = 0; a < dims; a++) {
		uint32_t b = 0;

		while ((uint64_t)grid[b] * s->matrix[a] != (uint64_t)grid[a] * s->matrix[b])
			b++; /* the loop ends where b reaches a */
		if (b == a) {
			const struct bs_window_shape w =
				make(s->window, width, (double)grid[a] / s->matrix[a]);

			bs_window_errors(&e[a], &w);
		} else {
			e[a] = e[b];
		}
		square += e[a].rms * e[a].rms;
		roundoff *= e[a].gain;
	}
	square += pow(roundoffs[side].cell, 2.0);
	return hypot(sqrt(square), roundoff);
}

double bs_window_reach(const struct bs_nufft_spec *s, uint32_t dims, double width,
		       const uint32_t grid[3], enum bs_window_side side)
{
	const double kb = reach(s, dims, width, grid, side, bs_window_plain);

	/* A flat window is better, though never by so much, and takes longer to make. */
	return kb <= s->accuracy || kb > 4.0 * s->accuracy
		       ? kb
		       : reach(s, dims, width, grid, side, bs_window_make);
}

int bs_window_choose(const struct bs_nufft_spec *s, uint32_t dims, double *width, uint32_t grid[3],
		     struct bs_fail *why)
{
	double best = INFINITY;
	double least = INFINITY;

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
		for (uint32_t step = 20; step <= 40; step++) {
			double o = step / 16.0; /* oversampling, 1.25 to 2.5 */
			uint32_t g[3];
			double c;
			double e;

			grids(s, dims, taps, o, g);
			c = cost(s, dims, taps, g);
			if (c >= best)
				continue;
			e = bs_window_reach(s, dims, taps, g, BS_WINDOW_HOST);
			/* until one is accurate enough, the best so far is kept */
			if (e > s->accuracy && (best < INFINITY || e >= least))
				continue;
			best = e <= s->accuracy ? c : INFINITY;
			least = e;
			*width = taps;
			memcpy(grid, g, sizeof(g));
		}
	return 0;
}
