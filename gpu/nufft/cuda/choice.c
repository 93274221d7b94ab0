/* gpu/nufft/cuda/choice.c - see choice.h */
#include "gpu/nufft/cuda/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/nufft/cuda/tune.h"
#include "gpu/nufft/trajectory.h"
#include "gpu/nufft/window.h"

/*
 * Cells of a sector's edges: a compromise between the border that padding adds and the number of
 * blocks that fit a multiprocessor. With 15 in 2D the rows of a window of 5 cells lie in different
 * banks of shared memory.
 */
static const uint32_t sides[2][3] = { { 15, 16, 1 }, { 8, 8, 8 } };

/*
 * Estimates seconds for one channel on a large device, well enough to rank choices. A padded sector
 * is written and read, a cell passes three more times; window cells run at the rate that was
 * measured.
 */
static double cost(const struct bs_nufft_spec *s, uint32_t dims, uint32_t taps,
		   const uint32_t *grid, const uint32_t *side)
{
	double cells = 1.0;
	double padded = 1.0;
	double window = 1.0;

	for (uint32_t a = 0; a < dims; a++) {
		cells *= grid[a]; /* NOLINT: dims is 1 to 3, checked before */
		padded *= (double)(side[a] + taps - 1) / side[a];
		window *= taps;
	}
	return cells * 8.0 * (2.0 * padded + 3.0) / 3e12 +
	       (double)s->samples * (window + 20.0) / 8e11;
}

static void grids(const struct bs_nufft_spec *s, uint32_t dims, uint32_t taps, double oversampling,
		  const uint32_t *side, uint32_t grid[3])
{
	for (uint32_t a = 0; a < 3; a++) {
		/* the least grid: a padded sector must not meet itself */
		uint32_t least = side[a] + taps - 1;
		double n = oversampling * s->matrix[a];

		grid[a] = a < dims ? bs_window_smooth(n > least ? n : least) : 1;
	}
}

static uint32_t tuned(const struct bs_nufft_spec *s, enum bs_nufft_field field)
{
	return s->tune != NULL ? s->tune->v[field] : 0;
}

/*
 * Chooses a window of this many taps on the smallest grid that is accurate, `steps` sizes up. A
 * grid of more than 2.5 times the matrix is refused.
 */
static bool window_of_taps(struct bs_nufft_choice *c, const struct bs_nufft_spec *s, uint32_t taps,
			   uint32_t steps)
{
	struct bs_sectors_spec *x = &c->sectors;
	uint32_t g[3] = { 1, 1, 1 };
	uint32_t o = 72; /* oversampling in 64ths, from 1.125 to 2.5 */

	grids(s, x->dims, taps, o / 64.0, x->side, g);
	while (o <= 160 && bs_window_reach(s, x->dims, taps, g, BS_WINDOW_CUDA) > s->accuracy)
		grids(s, x->dims, taps, ++o / 64.0, x->side, g);
	for (; steps > 0; steps--)
		for (uint32_t a = 0; a < x->dims; a++)
			g[a] = bs_window_smooth(g[a] + 1.0); /* NOLINT: dims is 1 to 3 */
	if (o > 160)
		return false;
	x->window = c->taps = taps;
	memcpy(x->grid, g, sizeof(g));
	return bs_window_reach(s, x->dims, taps, g, BS_WINDOW_CUDA) <= s->accuracy;
}

/*
 * Chooses the window and grid that are cheapest by the cost model and reach the accuracy asked for;
 * where none does, the most accurate.
 */
static void window_by_cost(struct bs_nufft_choice *c, const struct bs_nufft_spec *s)
{
	struct bs_sectors_spec *x = &c->sectors;
	double best = INFINITY;
	double least = INFINITY;

	for (uint32_t taps = BS_KERNEL_TAPS_MIN; taps <= BS_KERNEL_TAPS_MAX; taps++)
		for (uint32_t step = 20; step <= 40; step++) {
			const double o = step / 16.0; /* oversampling, 1.25 to 2.5 */
			uint32_t g[3];
			double t;
			double e;

			grids(s, x->dims, taps, o, x->side, g);
			t = cost(s, x->dims, taps, g, x->side);
			if (t >= best)
				continue;
			e = bs_window_reach(s, x->dims, taps, g, BS_WINDOW_CUDA);
			/* until one is accurate enough, the best so far is kept */
			if (e > s->accuracy && (best < INFINITY || e >= least))
				continue;
			best = e <= s->accuracy ? t : INFINITY;
			least = e;
			x->window = c->taps = taps;
			memcpy(x->grid, g, sizeof(g));
		}
}

static int find_window(struct bs_nufft_choice *c, const struct bs_nufft_spec *s,
		       struct bs_fail *why)
{
	struct bs_sectors_spec *x = &c->sectors;
	const uint32_t steps = tuned(s, BS_NUFFT_STEPS);
	uint32_t taps = tuned(s, BS_NUFFT_TAPS);

	if (s->accuracy == 0.0) {
		if (taps != 0 || steps != 0)
			return bs_fail(why, BS_ERR_UNSUPPORTED, "width and grid are given");
		int rc = bs_window_choose(s, x->dims, &x->window, x->grid, why);

		if (rc != 0)
			return rc;
		if (x->window > BS_KERNEL_TAPS_MAX)
			return bs_fail(why, BS_ERR_UNSUPPORTED,
				       "CUDA gridding: window width %g, at most %u", x->window,
				       BS_KERNEL_TAPS_MAX);
		c->taps = (uint32_t)ceil(x->window);
		c->taps = c->taps < BS_KERNEL_TAPS_MIN ? BS_KERNEL_TAPS_MIN : c->taps;
		for (uint32_t a = 0; a < x->dims; a++)
			if (x->grid[a] < x->side[a] + c->taps - 1)
				x->grid[a] = bs_window_smooth(x->side[a] + c->taps - 1);
		return 0;
	}
	if (!(s->accuracy >= 1e-6 && s->accuracy <= 1e-1))
		return bs_fail(why, BS_ERR_CONFIG, "accuracy %g: 1e-6 to 1e-1", s->accuracy);
	if (taps == 0)
		window_by_cost(c, s);
	if (taps == 0 && steps > 0)
		taps = c->taps;
	if (taps != 0 && !window_of_taps(c, s, taps, steps > 0 ? steps - 1 : 0))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "accuracy %g is out of reach of %u taps on a grid of this size",
			       s->accuracy, taps);
	return 0;
}

/*
 * The windows found last, keyed by all inputs of find_window. A plan asks several times, and the
 * tuner for the same few again and again; a search takes some ms.
 */
#define FOUND 8u

struct window_key {
	double accuracy, width, oversampling;
	uint64_t samples;
	uint32_t window, dims, matrix[3], coils, taps, steps;
};

static _Thread_local struct {
	struct window_key key;
	struct bs_sectors_spec sectors;
	uint32_t taps;
} found[FOUND];
static _Thread_local uint32_t finds;

static int choose_window(struct bs_nufft_choice *c, const struct bs_nufft_spec *s,
			 struct bs_fail *why)
{
	const struct window_key key = { .accuracy = s->accuracy,
					.width = s->width,
					.oversampling = s->oversampling,
					.samples = s->samples,
					.window = (uint32_t)s->window,
					.dims = s->dims,
					.matrix = { s->matrix[0], s->matrix[1], s->matrix[2] },
					.coils = s->coils,
					.taps = tuned(s, BS_NUFFT_TAPS),
					.steps = tuned(s, BS_NUFFT_STEPS) };
	int rc;

	for (uint32_t i = 0; i < FOUND; i++)
		if (memcmp(&found[i].key, &key, sizeof(key)) == 0) {
			c->sectors = found[i].sectors;
			c->taps = found[i].taps;
			return 0;
		}
	rc = find_window(c, s, why);
	if (rc == 0) {
		found[finds % FOUND].key = key;
		found[finds % FOUND].sectors = c->sectors;
		found[finds++ % FOUND].taps = c->taps;
	}
	return rc;
}

static int check_spec(const struct bs_nufft_spec *s, struct bs_fail *why)
{
	if (s->dims != 2 && s->dims != 3)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "CUDA gridding in %u dimensions: 2 or 3",
			       s->dims);
	/* density compensation doubles the matrix; in 3D the kernels number cells in 32 bits */
	const uint32_t most = s->dims == 2 ? 2 * BS_AXIS_MAX : BS_AXIS_MAX;

	for (uint32_t a = 0; a < 3; a++)
		if (s->matrix[a] == 0 || s->matrix[a] > most || (a >= s->dims && s->matrix[a] != 1))
			return bs_fail(why, BS_ERR_SIZE,
				       "CUDA gridding: matrix[%u] = %u in %u dimensions", a,
				       s->matrix[a], s->dims);
	if (s->samples == 0 || s->samples >= UINT32_MAX || s->coils == 0 ||
	    s->coils > BS_COILS_MAX || s->states > 65536)
		return bs_fail(why, BS_ERR_SIZE,
			       "CUDA gridding of %llu samples, %u coils, %u states",
			       (unsigned long long)s->samples, s->coils, s->states);
	return 0;
}

static uint32_t or_else(uint32_t tuned_value, uint32_t otherwise)
{
	return tuned_value != 0 ? tuned_value : otherwise;
}

/*
 * Returns true where windows reach no farther than the next sector: then cells can collect their
 * samples.
 */
static bool can_collect(const struct bs_nufft_choice *c)
{
	for (uint32_t a = 0; a < c->sectors.dims; a++) {
		const uint32_t n =
			(c->sectors.grid[a] + c->sectors.side[a] - 1) / c->sectors.side[a];

		if (c->sectors.grid[a] / n < c->taps - 1 || n < 2)
			return false;
	}
	return c->sectors.dims == 3 && c->planes == 1;
}

/* Chooses how the sums are split between blocks and between kernels. */
static int choose_split(struct bs_nufft_choice *c, const struct bs_nufft_spec *s, bool stack,
			struct bs_fail *why)
{
	/* enough tasks fill the device, but with too many the adding of their borders costs more */
	const uint64_t run = s->dims == 2 ? 256 : c->chunk / 4096;
	const uint32_t lanes = c->channels == 1 ? 1 : c->channels == 2 || s->dims == 3 ? 2 : 4;
	/* where the data of all channels fit the second-level cache, scattered reads cost little */
	const bool mixed =
		stack || (c->channels > 1 && c->points * c->channels * 8 > UINT64_C(24) << 20);
	const uint32_t want = tuned(s, BS_NUFFT_MIXED);

	c->sectors.run = or_else(tuned(s, BS_NUFFT_RUN), (uint32_t)(run < 128    ? 128
								    : run > 1024 ? 1024
										 : run));
	c->lanes = or_else(tuned(s, BS_NUFFT_LANES), lanes);
	if (c->lanes == 3 || c->lanes > (s->dims == 3 ? 2u : 4u) ||
	    (c->lanes > 1 && c->lanes >= 2 * c->channels))
		return bs_fail(why, BS_ERR_UNSUPPORTED, "%u coils of a block", c->lanes);
	c->mixed = want != 0 ? want == 2 : mixed;
	if ((stack && !c->mixed) || (c->channels == 1 && c->mixed && !stack))
		return bs_fail(why, BS_ERR_UNSUPPORTED, "samples of this kind are %s mixed",
			       stack ? "always" : "never");
	c->crowd = or_else(tuned(s, BS_NUFFT_CROWD), 6);
	c->fold = s->dims == 2 && tuned(s, BS_NUFFT_FOLD) == 2;
	c->collect = tuned(s, BS_NUFFT_ROUTE) == 2;
	c->direct = tuned(s, BS_NUFFT_ROUTE) == 3;
	/* A part is gridded beside the grids of the states; only sectors have room for that. */
	if (c->collect && (!can_collect(c) || s->part > 0))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "cells collect samples in 3D alone, on grids of more sectors");
	c->may_direct = s->dims == 2 && !stack && c->channels == 1 && c->chunks == 1;
	if (c->direct && (!c->may_direct || c->fold))
		return bs_fail(why, BS_ERR_UNSUPPORTED,
			       "samples are gridded directly in 2D alone, one coil in one chunk");
	if (tuned(s, BS_NUFFT_FOLD) == 2 && s->dims != 2)
		return bs_fail(why, BS_ERR_UNSUPPORTED, "sectors are folded in 2D alone");
	return 0;
}

/*
 * Most bytes of scratch that coils share. Beyond it coils take turns; each turn is then long enough
 * to fill a device.
 */
#define TURN_BYTES (UINT64_C(8) << 30)

/*
 * Bytes of scratch of one coil, as nufft.cu takes it. For a stack with the most positions that are
 * possible, so that it is enough for fewer.
 */
static uint64_t coil_bytes(const struct bs_nufft_choice *c, const struct bs_nufft_spec *s,
			   bool stack)
{
	const uint32_t *g = c->sectors.grid;
	const uint64_t half = (uint64_t)g[2] * g[1] * c->matrix[0];
	const uint64_t grid = half / c->matrix[0] * g[0];
	const uint64_t points = stack ? bs_nufft_positions_max(s) : c->points;
	const uint64_t tasks = stack ? bs_sectors_max_tasks(&c->sectors, points) : c->tasks;
	const uint64_t padded = c->collect ? 0 : tasks * c->padded_cells;

	return ((padded > grid ? padded : grid) + half + (c->mixed ? points : 0)) * c->planes * 8;
}

/* Makes turns as equal as whole groups of lanes allow. */
static void choose_turns(struct bs_nufft_choice *c, const struct bs_nufft_spec *s, bool stack)
{
	const uint64_t some = s->turn != 0 ? s->turn : TURN_BYTES / coil_bytes(c, s, stack);
	const uint32_t group = c->planes == 1 ? c->lanes : 1;
	uint32_t most = some < s->coils ? (uint32_t)some / group * group : s->coils;

	most = most != 0 ? most : group;
	c->turns = (s->coils + most - 1) / most;
	c->turn = (s->coils + c->turns - 1) / c->turns;
	if (c->turns > 1)
		c->turn = (c->turn + group - 1) / group * group;
	c->turns = (s->coils + c->turn - 1) / c->turn;
	c->channels = c->turn * c->planes;
	c->groups = (c->channels + c->lanes - 1) / c->lanes;
	c->sums = c->turns > 1 && c->chunks > 1;
}

/* most samples of a 3D sector for which several lanes share a sample (interpolate_volume.cuh) */
#define SHARED_MOST 48u

static void choose_launch(struct bs_nufft_choice *c, const struct bs_nufft_spec *s)
{
	struct bs_nufft_launch *l = &c->launch;
	const bool few =
		c->sectors.dims == 3 && c->chunk < SHARED_MOST * bs_sectors_count(&c->sectors);

	l->cols = tuned(s, BS_NUFFT_COLS);
	l->cols = l->cols > 16 ? 32 : l->cols > 8 ? 16 : l->cols > 4 ? 8 : l->cols;
	l->cols = l->cols == 3 ? 4 : l->cols; /* the number is rounded up to a power of two */
	l->parts = or_else(tuned(s, BS_NUFFT_PARTS), few ? 4 : 1);
	l->parts = l->parts > 1 ? 4 : 1;
	/* Transforms in registers round twice as much, which matters only at this accuracy. */
	l->registers = tuned(s, BS_NUFFT_LINES) != 1 && !(s->accuracy > 0.0 && s->accuracy < 1e-5);
	l->close[0] = tuned(s, BS_NUFFT_CLOSE) != 1;
	l->close[1] = tuned(s, BS_NUFFT_FOLLOW) != 1;
}

int bs_nufft_choose(struct bs_nufft_choice *c, const struct bs_nufft_spec *spec, bool stack,
		    uint64_t positions, struct bs_fail *why)
{
	struct bs_nufft_spec s = *spec;
	int rc = check_spec(spec, why);

	if (rc != 0)
		return rc;
	memset(c, 0, sizeof(*c));
	c->planes = stack ? spec->matrix[2] : 1;
	if (stack) {
		s.dims = 2;
		s.matrix[2] = 1;
		/* most samples of a plane, by the specification alone */
		s.samples = spec->samples / spec->matrix[2] + 1;
	}
	c->channels = spec->coils * c->planes;
	c->points = stack ? positions : spec->samples;
	c->chunk = stack || spec->chunk == 0 || spec->chunk > c->points ? c->points : spec->chunk;
	c->chunks = (c->points + c->chunk - 1) / c->chunk;
	c->sectors.dims = s.dims;
	memcpy(c->matrix, s.matrix, sizeof(c->matrix));
	memcpy(c->sectors.side, sides[s.dims - 2], sizeof(c->sectors.side));
	rc = choose_window(c, &s, why);
	if (rc != 0)
		return rc;
	c->padded_cells = 1;
	for (uint32_t a = 0; a < s.dims; a++)
		c->padded_cells *= c->sectors.side[a] + c->taps - 1;
	rc = choose_split(c, &s, stack, why);
	if (rc != 0)
		return rc;
	choose_launch(c, &s);
	c->tasks = bs_sectors_max_tasks(&c->sectors, c->chunk);
	choose_turns(c, spec, stack);
	if (c->tasks > INT32_MAX || c->groups > 65535 ||
	    (uint64_t)c->groups * c->lanes * c->padded_cells * 8 > UINT32_MAX)
		return bs_fail(why, BS_ERR_SIZE, "CUDA gridding: %llu sectors, %u channels",
			       (unsigned long long)c->tasks, c->channels);
	return 0;
}

double bs_nufft_cuda_accuracy(const struct bs_nufft_spec *s)
{
	struct bs_nufft_choice c;
	struct bs_fail why;

	if (s->accuracy == 0.0 || bs_nufft_choose(&c, s, false, 0, &why) != 0)
		return 0.0;
	return bs_window_reach(s, s->dims, c.sectors.window, c.sectors.grid, BS_WINDOW_CUDA);
}

static struct bs_window_shape shape_of(const struct bs_nufft_choice *c,
				       const struct bs_nufft_spec *spec, uint32_t axis)
{
	return bs_window_make(spec->window, c->sectors.window,
			      (double)c->sectors.grid[axis] / c->matrix[axis]);
}

int bs_nufft_kernel_window(struct bs_kernel_window *w, const struct bs_nufft_choice *c,
			   const struct bs_nufft_spec *spec, struct bs_fail *why)
{
	const uint32_t terms = BS_KERNEL_TERMS_OF(c->taps);

	memset(w, 0, sizeof(*w));
	for (uint32_t a = 0; a < c->sectors.dims; a++) {
		if (a > 0 &&
		    c->sectors.grid[a] * c->matrix[0] == c->sectors.grid[0] * c->matrix[a]) {
			memcpy(w->c[a], w->c[0], sizeof(w->c[a]));
			continue;
		}
		struct bs_window_shape shape = shape_of(c, spec, a);
		struct bs_taps *taps = aligned_alloc(64, (sizeof(*taps) + 63) / 64 * 64);
		double misfit = 1e-9;
		double worst;

		if (taps == NULL)
			return bs_fail(why, BS_ERR_NOMEM, "CUDA gridding: window");
		do { /* terms are added until the fit is as good as this many terms can be */
			misfit *= 2.0;
			worst = bs_window_taps(taps, &shape, 2, misfit);
		} while (taps->coefs > terms);
		for (uint32_t i = 0; i < taps->coefs; i++)
			for (uint32_t j = 0; j < c->taps; j++)
				w->c[a][i + terms - taps->coefs][j] = taps->tap[j][i];
		w->cut = taps->fractional ? taps->cut : 2.0f;
		free(taps);
		if (worst > 2.0 * bs_window_misfit(&shape, spec->accuracy) + 1e-7)
			return bs_fail(
				why, BS_ERR_UNSUPPORTED,
				"CUDA gridding: a window of %g cells on axis %u is fitted to "
				"%g only",
				c->sectors.window, a, worst);
	}
	w->last = (uint32_t)ceil(c->sectors.window) - 1;
	return 0;
}

void bs_nufft_deapodize(float *table, const struct bs_nufft_choice *c,
			const struct bs_nufft_spec *spec, uint32_t axis)
{
	struct bs_window_shape w = shape_of(c, spec, axis);
	uint32_t n = c->matrix[axis];

	for (uint32_t i = 0; i < n; i++)
		table[i] = (float)(1.0 / bs_window_transform(&w, ((double)i - n / 2) /
									 c->sectors.grid[axis]));
}
