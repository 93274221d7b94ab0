/* gpu/solve/interpolators.c - see interpolators.h */
#include "gpu/solve/interpolators.h"

#include <math.h>
#include <stdlib.h>

#include "gpu/calibrate/dense.h"

#define BINS_MIN 256u
#define BINS_MAX 16384u
#define COLUMNS  1024u /* times that are fitted together */

struct fit {
	double *share, *hz; /* [bins]: share of the voxels in each bin; their mean frequency, Hz */
	uint32_t bins;
	double *gram;    /* Gram matrix [L][L] complex */
	double *atom;    /* [L][bins] complex: exp(+i2pi f tau_l) */
	double *columns; /* right-hand sides [COLUMNS][L] complex */
	double *wave;    /* [bins] complex: share exp(-i2pi f t) */
};

static void fit_close(struct fit *f)
{
	free(f->share);
	free(f->hz);
	free(f->gram);
	free(f->atom);
	free(f->columns);
	free(f->wave);
}

/*
 * Makes the histogram. It has 16 bins a cycle of the widest phase: within a bin exp(-i2pi f t)
 * changes by a sixteenth at most.
 */
static int fit_open(struct fit *f, const float *hz, uint64_t count, double last_s,
		    uint32_t most_segments, struct bs_fail *why)
{
	double least = INFINITY;
	double most = -INFINITY;
	double cycles;
	uint32_t used = 0;

	*f = (struct fit){ .bins = 0 };
	for (uint64_t v = 0; v < count; v++) {
		if (!isfinite(hz[v]))
			return bs_fail(why, BS_ERR_VALUE, "field map: voxel %llu is %g Hz",
				       (unsigned long long)v, (double)hz[v]);
		least = fmin(least, (double)hz[v]);
		most = fmax(most, (double)hz[v]);
	}
	cycles = fmax((most - least) * last_s, 0.0);
	f->bins = (uint32_t)fmin(fmax(16.0 * cycles, BINS_MIN), BINS_MAX);
	f->share = calloc(f->bins, sizeof(double));
	f->hz = calloc(f->bins, sizeof(double));
	f->wave = calloc(f->bins, 2 * sizeof(double));
	f->gram = calloc((size_t)most_segments * most_segments, 2 * sizeof(double));
	f->atom = calloc((size_t)most_segments * f->bins, 2 * sizeof(double));
	f->columns = calloc((size_t)most_segments * COLUMNS, 2 * sizeof(double));
	if (f->share == NULL || f->hz == NULL || f->wave == NULL || f->gram == NULL ||
	    f->atom == NULL || f->columns == NULL) {
		fit_close(f);
		return bs_fail(why, BS_ERR_NOMEM, "fit of the time segments");
	}
	for (uint64_t v = 0; v < count; v++) {
		const double at = most > least ? ((double)hz[v] - least) / (most - least) : 0.0;
		const uint32_t bin = (uint32_t)fmin(at * f->bins, f->bins - 1.0);

		f->share[bin] += 1.0;
		f->hz[bin] += (double)hz[v];
	}
	for (uint32_t i = 0; i < f->bins; i++) {
		if (f->share[i] == 0.0)
			continue;
		f->hz[used] = f->hz[i] / f->share[i];
		f->share[used++] = f->share[i] / (double)count;
	}
	f->bins = used;
	return 0;
}

/*
 * Makes the Gram matrix of the L exponentials over the histogram. Adding 1e-13 of its trace keeps
 * it positive definite where the histogram holds fewer than L frequencies; that adds 3e-7 to the
 * error at most.
 */
static void fit_gram(struct fit *f, uint32_t l, double first_s, double step_s)
{
	for (uint32_t i = 0; i < l; i++)
		for (uint32_t j = 0; j < f->bins; j++) {
			const double a = 2.0 * M_PI * f->hz[j] * (first_s + i * step_s);

			f->atom[2 * ((size_t)i * f->bins + j)] = cos(a);
			f->atom[2 * ((size_t)i * f->bins + j) + 1] = sin(a);
		}
	for (uint32_t i = 0; i < l; i++)
		for (uint32_t k = 0; k <= i; k++) {
			const double *a = f->atom + 2 * (size_t)i * f->bins;
			const double *b = f->atom + 2 * (size_t)k * f->bins;
			double re = 0.0;
			double im = 0.0;

			for (uint32_t j = 0; j < f->bins; j++) {
				re += f->share[j] *
				      (a[2 * j] * b[2 * j] + a[2 * j + 1] * b[2 * j + 1]);
				im += f->share[j] *
				      (a[2 * j + 1] * b[2 * j] - a[2 * j] * b[2 * j + 1]);
			}
			f->gram[2 * (i + (size_t)l * k)] = re + (i == k ? 1e-13 : 0.0);
			f->gram[2 * (i + (size_t)l * k) + 1] = im;
		}
}

static void fit_wave(struct fit *f, double t)
{
	for (uint32_t j = 0; j < f->bins; j++) {
		f->wave[2 * j] = cos(2.0 * M_PI * f->hz[j] * t);
		f->wave[2 * j + 1] = -sin(2.0 * M_PI * f->hz[j] * t);
	}
}

/* Sets column to the sum over f of share exp(+i2pi f tau_l) exp(-i2pi f t). */
static void fit_side(struct fit *f, uint32_t l, double *column)
{
	for (uint32_t i = 0; i < l; i++) {
		const double *a = f->atom + 2 * (size_t)i * f->bins;
		double re = 0.0;
		double im = 0.0;

		for (uint32_t j = 0; j < f->bins; j++) {
			const double *w = f->wave + 2 * j;

			re += f->share[j] * (a[2 * j] * w[0] - a[2 * j + 1] * w[1]);
			im += f->share[j] * (a[2 * j] * w[1] + a[2 * j + 1] * w[0]);
		}
		column[2 * i] = re;
		column[2 * i + 1] = im;
	}
}

/*
 * Returns the error of the interpolated exponential against wave: root mean square over the
 * histogram.
 */
static double fit_error(const struct fit *f, uint32_t l, const double *column)
{
	double sum = 0.0;

	for (uint32_t j = 0; j < f->bins; j++) {
		double re = f->wave[2 * j];
		double im = f->wave[2 * j + 1];

		for (uint32_t i = 0; i < l; i++) { /* takes off b_l conj(atom) */
			const double *a = f->atom + 2 * ((size_t)i * f->bins + j);

			re -= column[2 * i] * a[0] + column[2 * i + 1] * a[1];
			im -= column[2 * i + 1] * a[0] - column[2 * i] * a[1];
		}
		sum += f->share[j] * (re * re + im * im);
	}
	return sqrt(sum);
}

/*
 * Makes the interpolators of L segments at `count` times, first + i step. b [segment][count]: NULL:
 * not wanted. *error: the largest over every `sparse`-th time.
 */
static int fit_times(struct fit *f, const struct bs_interpolators *p, double start_s,
		     uint32_t count, double step_s, uint32_t sparse, float *b, double *error,
		     struct bs_fail *why)
{
	const uint32_t l = p->segments;

	*error = 0.0;
	for (uint32_t from = 0; from < count; from += COLUMNS) {
		const uint32_t n = count - from < COLUMNS ? count - from : COLUMNS;
		int rc;

		/* the solution destroys the matrix, so it is made again */
		fit_gram(f, l, p->first_s, p->step_s);
		for (uint32_t i = 0; i < n; i++) {
			fit_wave(f, start_s + (from + i) * step_s);
			fit_side(f, l, f->columns + 2 * (size_t)l * i);
		}
		rc = bs_dense_solve(l, n, f->gram, f->columns, why);
		if (rc != 0)
			return rc;
		for (uint32_t i = 0; i < n; i++) {
			const double *column = f->columns + 2 * (size_t)l * i;

			for (uint32_t s = 0; b != NULL && s < l; s++) {
				b[2 * ((size_t)s * count + from + i)] = (float)column[2 * s];
				b[2 * ((size_t)s * count + from + i) + 1] =
					(float)column[2 * s + 1];
			}
			if ((from + i) % sparse != 0)
				continue;
			fit_wave(f, start_s + (from + i) * step_s);
			*error = fmax(*error, fit_error(f, l, column));
		}
	}
	return 0;
}

/* Places the segments from the first sample to the last; a single one in the middle. */
static void place_segments(struct bs_interpolators *p, const struct bs_interpolators_spec *s,
			   uint32_t l)
{
	const double whole_s = (s->samples - 1.0) * s->dwell_s;

	p->segments = l;
	p->step_s = l > 1 ? whole_s / (l - 1) : 0.0;
	p->first_s = s->start_s + (l > 1 ? 0.0 : 0.5 * whole_s);
}

int bs_interpolators_find(struct bs_interpolators *p, const struct bs_interpolators_spec *s,
			  float *b, struct bs_fail *why)
{
	const double whole_s = (s->samples - 1.0) * s->dwell_s;
	struct fit f;
	uint32_t tried;
	int rc = bs_dense_open(why);

	if (rc == 0)
		rc = fit_open(&f, s->hz, s->voxels, whole_s, s->most, why);
	if (rc != 0)
		return rc;
	*p = (struct bs_interpolators){ .error = INFINITY };
	while (rc == 0 && p->error > s->error && p->segments < s->most) {
		place_segments(p, s, p->segments + 1);
		tried = 8 * p->segments + 1; /* looks at the ends, and at times between segments */
		rc = fit_times(&f, p, s->start_s, tried, whole_s / (tried - 1), 1, NULL, &p->error,
			       why);
	}
	if (rc == 0 && p->error > s->error)
		rc = bs_fail(why, BS_ERR_VALUE,
			     "field map: %u time segments of a readout of %g ms have an error of "
			     "%.2g, more than %g; the map's range is %g to %g Hz",
			     s->most, whole_s * 1e3, p->error, s->error, f.hz[0], f.hz[f.bins - 1]);
	/* about 1024 times are looked at: the error changes over the length of a segment */
	if (rc == 0)
		rc = fit_times(&f, p, s->start_s, s->samples, s->dwell_s, 1 + s->samples / 1024, b,
			       &p->error, why);
	fit_close(&f);
	return rc;
}
