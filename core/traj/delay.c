/* core/traj/delay.c - see delay.h */
#include "core/traj/delay.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWNS 3  /* number of unknowns of S: xx, yy, xy */
#define PARTNERS 8u /* crossings of each spoke that are used */
#define STEPS    40 /* most steps of Gauss-Newton */
#define TAPS     32 /* taps of the interpolation, a sinc under exp(SHAPE (sqrt(1 - u^2) - 1)) */
#define SHAPE    12.0
#define COARSE   0.5 /* first search: step in samples; taps; number of spokes */
#define LESS     8
#define FEW      48u

/* ---- a table ---- */

/* Folds k into [-0.5, 0.5): -0.5 and 0.5 are the same place. */
static double fold(double k)
{
	return k - floor(k + 0.5);
}

void bs_delay_readout(float *k, uint32_t dims, uint32_t samples, const float axis[3],
		      const float cross[3])
{
	const double s[3][3] = { { axis[0], cross[0], cross[1] },
				 { cross[0], axis[1], cross[2] },
				 { cross[1], cross[2], axis[2] } };
	float before[3] = { 0 }; /* place of the sample before, without delay */

	for (uint32_t i = 0; i < samples; i++, k += dims) {
		const float *after = i + 1 < samples ? k + dims : k;
		const int between = (i > 0) + (i + 1 < samples);
		/* half of the step from the sample before to the sample after */
		double step[3] = { 0 };
		float here[3] = { 0 };

		memcpy(here, k, dims * sizeof(*k));
		for (uint32_t a = 0; a < dims && between > 0; a++)
			step[a] = fold((double)after[a] - (i > 0 ? before[a] : here[a])) / between;
		for (uint32_t a = 0; a < dims; a++) {
			double to = here[a];

			for (uint32_t b = 0; b < dims; b++)
				to += s[a][b] * step[b];
			k[a] = (float)fold(to);
			if (k[a] >= 0.5f) /* the float was rounded up to 0.5 */
				k[a] = -0.5f;
		}
		memcpy(before, here, sizeof(before));
	}
}

void bs_delay_apply(struct bs_traj *t, const float axis[3], const float cross[3])
{
	for (uint32_t r = 0; r < t->readouts; r++)
		bs_delay_readout(t->k + (size_t)r * t->samples * t->dims, t->dims, t->samples, axis,
				 cross);
}

/* ---- the estimate ---- */

struct spoke {
	double dir[2]; /* unit vector of the spoke */
	double center; /* the sample, maybe fractional, that should lie at k = 0 */
};

/*
 * The crossing of a pair, where both should have measured the same: alpha and beta samples from the
 * two centers. Both are linear in S: alpha = sum of a[p] S[p].
 */
struct pair {
	uint32_t i, j;
	double a[UNKNOWNS], b[UNKNOWNS];
};

struct search {
	const struct bs_spokes *in;
	struct spoke *spoke;
	struct pair *pair;
	uint32_t pairs;
};

/*
 * Computes the samples' weights for a place `at` after the first of them, between taps / 2 - 1 and
 * taps / 2.
 */
static void weigh_samples(double w[TAPS], double at, int taps)
{
	/* the sine of the next tap differs in its sign alone */
	const double sine = sin(M_PI * at) / M_PI;

	for (int n = 0; n < taps; n++) {
		const double x = at - n;
		const double u = 2.0 * x / taps;
		const double window =
			exp(SHAPE * taps / TAPS * (sqrt(fmax(0.0, 1.0 - u * u)) - 1.0));

		w[n] = fabs(x) < 1e-9 ? 1.0 : window * (n % 2 == 0 ? sine : -sine) / x;
	}
}

/* Computes the signal of all coils, out [coil] complex, at a place between samples. */
static void signal_at(const struct bs_spokes *in, uint32_t readout, double at, int taps,
		      double *out)
{
	const int first = (int)floor(at) - taps / 2 + 1;
	double w[TAPS];

	weigh_samples(w, at - first, taps);
	for (size_t c = 0; c < in->coils; c++) {
		const float *d = in->data + 2 * (readout * in->readout_step + c * in->coil_step);

		out[2 * c] = out[2 * c + 1] = 0.0;
		for (int n = 0; n < taps; n++) {
			const float *here = d + 2 * ((ptrdiff_t)first + n);

			if (first + n < 0 || first + n >= (int)in->samples)
				continue;
			out[2 * c] += w[n] * (double)here[0];
			out[2 * c + 1] += w[n] * (double)here[1];
		}
	}
}

static double dot(const double *x, const double *y, size_t n)
{
	double sum = 0.0;

	for (size_t i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}

/* Checks that the spoke is a straight line through the center, evenly sampled. */
static int check_spoke(struct spoke *s, const struct bs_spokes *in, uint32_t readout,
		       struct bs_fail *why)
{
	const float *k = in->k + (size_t)readout * in->samples * 2;
	const float *last = k + 2 * ((size_t)in->samples - 2);
	const double n = in->samples - 1.0;
	/* the outermost samples are left out: one may lie on the other side, at -0.5 for 0.5 */
	const double step[2] = { ((double)last[0] - k[2]) / (n - 2.0),
				 ((double)last[1] - k[3]) / (n - 2.0) };
	const double length = hypot(step[0], step[1]);
	double off = 0.0;

	if (!(length > 0.0) || !isfinite(length))
		return bs_fail(why, BS_ERR_TRAJECTORY, "readout %u does not move", readout);
	s->dir[0] = step[0] / length;
	s->dir[1] = step[1] / length;
	s->center = 1.0 - (k[2] * s->dir[0] + k[3] * s->dir[1]) / length;
	for (size_t i = 1; i + 1 < in->samples; i++)
		off = fmax(off, hypot(k[2 * i] - ((double)i - s->center) * step[0],
				      k[2 * i + 1] - ((double)i - s->center) * step[1]));
	if (!(off <= 0.25 * length))
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "readout %u is no straight, evenly sampled spoke through the "
			       "center: it is %g samples away from one",
			       readout, off / length);
	if (!(s->center >= TAPS / 2 && s->center <= n - TAPS / 2))
		return bs_fail(why, BS_ERR_TRAJECTORY,
			       "readout %u has its center at sample %g: at least %d are needed on "
			       "both sides",
			       readout, s->center, TAPS / 2);
	return 0;
}

/* Finds the crossing of two spokes. False: they are too near to parallel to cross at one place. */
static bool crossing(struct pair *p, const struct spoke *spoke, uint32_t i, uint32_t j)
{
	const double *u = spoke[i].dir;
	const double *v = spoke[j].dir;
	const double sine = u[0] * v[1] - u[1] * v[0];
	const double d[2] = { v[0] - u[0], v[1] - u[1] };
	/* value of S (v - u), with each unknown of S set to one in turn */
	const double e[UNKNOWNS][2] = { { d[0], 0.0 }, { 0.0, d[1] }, { d[1], d[0] } };

	if (fabs(sine) < 0.5)
		return false;
	p->i = i;
	p->j = j;
	for (int n = 0; n < UNKNOWNS; n++) {
		p->a[n] = (e[n][0] * v[1] - e[n][1] * v[0]) / sine;
		p->b[n] = (e[n][0] * u[1] - e[n][1] * u[0]) / sine;
	}
	return true;
}

static bool has_come(const struct bs_spokes *in, uint32_t readout)
{
	return in->came == NULL || in->came[readout] != 0;
}

static int find_pairs(struct search *q, struct bs_fail *why)
{
	const uint32_t n = q->in->readouts;

	for (uint32_t i = 0; i < n; i++) {
		int rc = has_come(q->in, i) ? check_spoke(&q->spoke[i], q->in, i, why) : 0;

		if (rc != 0)
			return rc;
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1, found = 0; j < n && found < PARTNERS; j++)
			if (has_come(q->in, i) && has_come(q->in, j) &&
			    crossing(&q->pair[q->pairs], q->spoke, i, j)) {
				q->pairs++;
				found++;
			}
	return q->pairs >= UNKNOWNS
		       ? 0
		       : bs_fail(why, BS_ERR_TRAJECTORY,
				 "%u of %u spokes cross at more than 30 degrees", q->pairs, n);
}

/*
 * Finds the difference [coil] of the two spokes where S makes them cross. Returns the power of both
 * there.
 */
static double differ(const struct search *q, const struct pair *p, const double s[UNKNOWNS],
		     int taps, double *out)
{
	const uint32_t values = 2 * q->in->coils;
	double other[2 * BS_COILS_MAX];
	double power;

	signal_at(q->in, p->i, q->spoke[p->i].center + dot(p->a, s, UNKNOWNS), taps, out);
	signal_at(q->in, p->j, q->spoke[p->j].center + dot(p->b, s, UNKNOWNS), taps, other);
	power = dot(out, out, values) + dot(other, other, values);
	for (uint32_t c = 0; c < values; c++)
		out[c] -= other[c];
	return power;
}

/*
 * The pairs' squared differences over their power at the crossing, because far from the center both
 * are small. few: of the first spokes alone, less accurately.
 */
static double cost(const struct search *q, const double s[UNKNOWNS], bool few)
{
	double d[2 * BS_COILS_MAX];
	double sum = 0.0;
	double power = 0.0;

	for (uint32_t n = 0; n < q->pairs; n++) {
		if (few && q->pair[n].j >= FEW)
			continue;
		power += differ(q, &q->pair[n], s, few ? LESS : TAPS, d);
		sum += dot(d, d, (size_t)2 * q->in->coils);
	}
	return power > 0.0 ? sum / power : INFINITY;
}

static void search_coarse(const struct search *q, double best[UNKNOWNS])
{
	const int reach = (int)(BS_DELAY_MAX / COARSE);
	double least = INFINITY;

	for (int x = -reach; x <= reach; x++)
		for (int y = -reach; y <= reach; y++) {
			const double s[UNKNOWNS] = { x * COARSE, y * COARSE, 0.0 };
			const double now = cost(q, s, true);

			if (now < least) {
				least = now;
				memcpy(best, s, sizeof(s));
			}
		}
}

/* x = A^-1 b for a symmetric, positive A; false when it is singular. */
static bool solve(double a[UNKNOWNS][UNKNOWNS], double b[UNKNOWNS])
{
	for (int i = 0; i < UNKNOWNS; i++) {
		if (!(a[i][i] > 0.0))
			return false;
		for (int r = i + 1; r < UNKNOWNS; r++) {
			const double f = a[r][i] / a[i][i];

			for (int c = i; c < UNKNOWNS; c++)
				a[r][c] -= f * a[i][c];
			b[r] -= f * b[i];
		}
	}
	for (int i = UNKNOWNS - 1; i >= 0; i--) {
		for (int c = i + 1; c < UNKNOWNS; c++)
			b[i] -= a[i][c] * b[c];
		b[i] /= a[i][i];
	}
	return true;
}

/* Makes the normal equations of one Gauss-Newton step; the slopes are central differences. */
static void equations(const struct search *q, const double s[UNKNOWNS],
		      double a[UNKNOWNS][UNKNOWNS], double b[UNKNOWNS])
{
	const double h = 0.01;
	const uint32_t values = 2 * q->in->coils;
	double now[2 * BS_COILS_MAX];
	double up[2 * BS_COILS_MAX];
	double slope[UNKNOWNS][2 * BS_COILS_MAX];

	memset(a, 0, sizeof(double[UNKNOWNS][UNKNOWNS]));
	memset(b, 0, sizeof(double[UNKNOWNS]));
	for (uint32_t n = 0; n < q->pairs; n++) {
		(void)differ(q, &q->pair[n], s, TAPS, now);
		for (int u = 0; u < UNKNOWNS; u++) {
			double to[UNKNOWNS];

			memcpy(to, s, sizeof(to));
			to[u] = s[u] + h;
			(void)differ(q, &q->pair[n], to, TAPS, up);
			to[u] = s[u] - h;
			(void)differ(q, &q->pair[n], to, TAPS, slope[u]);
			for (uint32_t c = 0; c < values; c++)
				slope[u][c] = (up[c] - slope[u][c]) / (2.0 * h);
		}
		for (int u = 0; u < UNKNOWNS; u++) {
			for (int v = 0; v < UNKNOWNS; v++)
				a[u][v] += dot(slope[u], slope[v], values);
			b[u] -= dot(slope[u], now, values);
		}
	}
}

/* Descends from s; a step that goes uphill is halved. */
static bool refine(const struct search *q, double s[UNKNOWNS])
{
	double least = cost(q, s, false);

	for (int step = 0; step < STEPS; step++) {
		double a[UNKNOWNS][UNKNOWNS];
		double d[UNKNOWNS];
		double to[UNKNOWNS];
		double now = INFINITY;

		equations(q, s, a, d);
		if (!solve(a, d))
			return false;
		for (int half = 0; half < 12 && !(now <= least); half++) {
			for (int u = 0; u < UNKNOWNS; u++)
				to[u] = s[u] + d[u] / (1 << half);
			now = cost(q, to, false);
		}
		if (!(now <= least))
			return true; /* no step improves s, so s is the minimum */
		memcpy(s, to, sizeof(to));
		least = now;
		if (fabs(d[0]) + fabs(d[1]) + fabs(d[2]) < 1e-6)
			return true;
	}
	return true;
}

static int estimate(struct bs_delays *out, struct search *q, struct bs_fail *why)
{
	const double none[UNKNOWNS] = { 0.0 };
	double s[UNKNOWNS] = { 0.0 };
	int rc = find_pairs(q, why);

	if (rc != 0)
		return rc;
	out->before = sqrt(cost(q, none, false));
	if (!isfinite(out->before))
		return bs_fail(why, BS_ERR_VALUE, "the spokes' centers are 0, or no numbers");
	search_coarse(q, s);
	if (!refine(q, s))
		return bs_fail(why, BS_ERR_VALUE, "the pairs do not determine all three delays");
	out->axis[0] = s[0];
	out->axis[1] = s[1];
	out->cross = s[2];
	out->pairs = q->pairs;
	out->after = sqrt(cost(q, s, false));
	if (!(out->after <= out->before) || !(fabs(s[0]) <= BS_DELAY_MAX) ||
	    !(fabs(s[1]) <= BS_DELAY_MAX))
		return bs_fail(why, BS_ERR_VALUE,
			       "no delays of up to %g samples make crossing spokes agree: they "
			       "differ by %g of their value there without, %g with",
			       BS_DELAY_MAX, out->before, out->after);
	return 0;
}

size_t bs_delay_bytes(uint32_t readouts)
{
	return readouts * (sizeof(struct spoke) + PARTNERS * sizeof(struct pair));
}

int bs_delay_estimate_in(struct bs_delays *out, const struct bs_spokes *spokes, void *work,
			 struct bs_fail *why)
{
	struct bs_spokes in = *spokes;
	struct search q = { .in = &in, .spoke = work };

	if (in.coils == 0 || in.coils > BS_COILS_MAX || in.readouts < 2 || in.samples < 4)
		return bs_fail(why, BS_ERR_SIZE, "%u spokes of %u samples from %u coils",
			       in.readouts, in.samples, in.coils);
	in.coil_step = in.coil_step > 0 ? in.coil_step : in.samples;
	in.readout_step = in.readout_step > 0 ? in.readout_step : (size_t)in.samples * in.coils;
	q.pair = (struct pair *)(q.spoke + in.readouts);
	return estimate(out, &q, why);
}

int bs_delay_estimate(struct bs_delays *out, const struct bs_spokes *in, struct bs_fail *why)
{
	void *work = malloc(bs_delay_bytes(in->readouts > 0 ? in->readouts : 1));
	int rc = work != NULL ? bs_delay_estimate_in(out, in, work, why)
			      : bs_fail(why, BS_ERR_NOMEM, "%u spokes", in->readouts);

	free(work);
	return rc;
}
