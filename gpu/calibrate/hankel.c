/* gpu/calibrate/hankel.c - see hankel.h */
#include "gpu/calibrate/hankel.h"

#include <string.h>

struct run {
	const struct bs_hankel *g;
	const float *samples;
	double *work, *to;
};

/* Product of the block with itself shifted by a lag, over some pairs of coils, and its box sums. */
struct lagged {
	const float *a, *b; /* samples of the first pair of coils */
	uint32_t pairs;
	int32_t lag[3];              /* shift of b against a */
	const uint32_t *box, *count; /* size of the box; number of places that it is moved over */
};

/* The first index on an axis for which the index at lag is in the block, too. */
static uint32_t low(int32_t lag)
{
	return lag < 0 ? (uint32_t)-lag : 0;
}

static uint32_t high(uint32_t n, int32_t lag)
{
	return lag > 0 ? n - (uint32_t)lag : n;
}

static void product(const struct bs_hankel *g, const struct lagged *l, double *to)
{
	const uint32_t *b = g->block;
	const size_t samples = (size_t)bs_box_size(b);
	const int64_t shift = ((int64_t)l->lag[2] * b[1] + l->lag[1]) * b[0] + l->lag[0];

	for (uint32_t z = low(l->lag[2]); z < high(b[2], l->lag[2]); z++)
		for (uint32_t y = low(l->lag[1]); y < high(b[1], l->lag[1]); y++) {
			const size_t row = ((size_t)z * b[1] + y) * b[0];
			const uint32_t from = low(l->lag[0]);
			const uint32_t end = high(b[0], l->lag[0]);

			memset(to + 2 * (row + from), 0, (size_t)(end - from) * 16);
			for (uint32_t pair = 0; pair < l->pairs; pair++) {
				const float *p = l->a + 2 * (pair * samples + row);
				const float *q =
					l->b + 2 * ((int64_t)(pair * samples + row) + shift);

				for (uint32_t x = from; x < end; x++) {
					const double pr = p[2 * x];
					const double pi = p[2 * x + 1];
					const double qr = q[2 * x];
					const double qi = q[2 * x + 1];

					to[2 * (row + x)] += pr * qr + pi * qi;
					to[2 * (row + x) + 1] += pi * qr - pr * qi;
				}
			}
		}
}

/* Sums `box` elements that lie stride apart, at each of n places. */
static void box_sums(double *to, const double *from, uint32_t n, uint32_t box, size_t stride)
{
	for (uint32_t i = 0; i < n; i++) {
		double re = 0.0;
		double im = 0.0;

		for (uint32_t k = 0; k < box; k++) {
			re += from[2 * (i + k) * stride];
			im += from[2 * (i + k) * stride + 1];
		}
		to[2 * i * stride] = re;
		to[2 * i * stride + 1] = im;
	}
}

/*
 * Sums over the box at each place where the box and the box at lag are inside. Returns where the
 * sums are.
 */
static const double *lagged_sums(const struct bs_hankel *g, const struct lagged *l, double *p)
{
	const uint32_t *b = g->block;
	const size_t line = b[0];
	const size_t plane = line * b[1];
	double *q = p + 2 * bs_box_size(b);
	uint32_t from[3];
	uint32_t places[3];

	product(g, l, p);
	for (int a = 0; a < 3; a++) {
		from[a] = low(l->lag[a]);
		places[a] = high(l->count[a], l->lag[a]) - from[a];
	}
	for (uint32_t z = from[2]; z < high(b[2], l->lag[2]); z++)
		for (uint32_t y = from[1]; y < high(b[1], l->lag[1]); y++) {
			const size_t at = 2 * (z * plane + y * line + from[0]);

			box_sums(q + at, p + at, places[0], l->box[0], 1);
		}
	for (uint32_t z = from[2]; z < high(b[2], l->lag[2]); z++)
		for (uint32_t x = from[0]; x < from[0] + places[0]; x++) {
			const size_t at = 2 * (z * plane + from[1] * line + x);

			box_sums(p + at, q + at, places[1], l->box[1], line);
		}
	if (b[2] == 1)
		return p;
	for (uint32_t y = from[1]; y < from[1] + places[1]; y++)
		for (uint32_t x = from[0]; x < from[0] + places[0]; x++) {
			const size_t at = 2 * (from[2] * plane + y * line + x);

			box_sums(q + at, p + at, places[2], l->box[2], plane);
		}
	return q;
}

/*
 * Writes the sums at all places of a lag to the Gram matrix: element (row0 + i, column0 + i + lag).
 */
static void spread(const struct run *r, const struct lagged *l, const double *sums, size_t row0,
		   size_t column0, bool swapped)
{
	const uint32_t *b = r->g->block;
	const uint32_t *n = l->count;

	for (uint32_t z = low(l->lag[2]); z < high(n[2], l->lag[2]); z++)
		for (uint32_t y = low(l->lag[1]); y < high(n[1], l->lag[1]); y++)
			for (uint32_t x = low(l->lag[0]); x < high(n[0], l->lag[0]); x++) {
				const double *sum = sums + 2 * (((size_t)z * b[1] + y) * b[0] + x);
				const size_t i = ((size_t)z * n[1] + y) * n[0] + x;
				const size_t j =
					(((size_t)z + l->lag[2]) * n[1] + y + l->lag[1]) * n[0] +
					x + l->lag[0];
				const size_t down = swapped ? j : row0 + i;
				const size_t across = swapped ? i : column0 + j;
				double *to = r->to + 2 * (across * r->g->rows + down);

				to[0] = sum[0];
				to[1] = sum[1];
			}
}

static struct lagged lag_of(const uint32_t count[3], uint32_t task)
{
	struct lagged l = { 0 };

	l.count = count;
	for (int a = 0; a < 3; a++) {
		l.lag[a] = (int32_t)(task % (2 * count[a] - 1)) - (int32_t)(count[a] - 1);
		task /= 2 * count[a] - 1;
	}
	return l;
}

/* K(p, q) = sum over coils and elements of conj(y(p)) y(q); each task takes one lag p - q >= 0. */
static void places(void *arg, int task, int member)
{
	const struct run *r = arg;
	const struct bs_hankel *g = r->g;
	const uint32_t *n = g->places;
	const uint32_t lags = (2 * n[0] - 1) * (2 * n[1] - 1) * (2 * n[2] - 1);
	double *work = r->work + (size_t)member * bs_hankel_work(g);
	struct lagged l = lag_of(n, lags / 2 + (uint32_t)task);

	l.a = l.b = r->samples;
	l.pairs = g->coils;
	l.box = g->kernel;
	spread(r, &l, lagged_sums(g, &l, work), 0, 0, true);
}

/*
 * Sums over places y_c(p + i) conj(y_d(p + j)); each task takes one lag j - i of a pair of coils.
 */
static void elements(void *arg, int task, int member)
{
	const struct run *r = arg;
	const struct bs_hankel *g = r->g;
	const uint32_t *n = g->kernel;
	const uint32_t lags = (2 * n[0] - 1) * (2 * n[1] - 1) * (2 * n[2] - 1);
	const size_t samples = (size_t)bs_box_size(g->block);
	const size_t each = (size_t)bs_box_size(n);
	const uint32_t c = (uint32_t)task / lags / g->coils;
	const uint32_t d = (uint32_t)task / lags % g->coils;
	double *work = r->work + (size_t)member * bs_hankel_work(g);
	struct lagged l = lag_of(n, (uint32_t)task % lags);

	/* the element is above the diagonal */
	if (d > c || (d == c && (uint32_t)task % lags > lags / 2))
		return;
	l.a = r->samples + 2 * c * samples;
	l.b = r->samples + 2 * d * samples;
	l.pairs = 1;
	l.box = g->places;
	spread(r, &l, lagged_sums(g, &l, work), c * each, d * each, false);
}

void bs_hankel_gram(const struct bs_hankel *g, struct bs_team *team, const float *samples,
		    double *work, double *to)
{
	const uint32_t *n = g->of_places ? g->places : g->kernel;
	const uint32_t lags = (2 * n[0] - 1) * (2 * n[1] - 1) * (2 * n[2] - 1);
	struct run r = { g, samples, work, to };

	if (g->of_places)
		bs_team_run(team, places, &r, (int)(lags - lags / 2));
	else
		bs_team_run(team, elements, &r, (int)(g->coils * g->coils * lags));
}
