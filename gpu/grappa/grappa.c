/* gpu/grappa/grappa.c - host twin; see grappa.h */
#include "gpu/grappa/grappa.h"

#include <math.h>
#include <stdlib.h>

#include "gpu/calibrate/dense.h"
#include "gpu/grappa/ends.h"
#include "gpu/grappa/gram.h"
#include "gpu/grappa/noise.h"

#define SOLVERS 4u /* neighborhoods that are solved in parallel */

/*
 * The number of samples, half at each end, for which the kernel would leave the readout. In a
 * missing line these have weights of their own, for the sources that are there, kept as differences
 * from the others, which wrap around.
 */
static uint32_t ends_of(const struct bs_grappa_spec *s)
{
	return s->kernel[0] / 2 * 2;
}

/* Data kept for a set: the weights of the neighborhoods that its frames had. */
struct kept {
	uint64_t version; /* version of the calibration lines; 0: none yet */
	uint32_t count;
	size_t used; /* floats of weights that are kept */
	uint64_t *window;
	size_t *at;
	float *weights;
};

struct bs_grappa {
	struct bs_grappa_spec s;
	struct bs_team *team;
	const struct bs_grappa_kernels *simd;
	struct bs_gram gram;
	uint32_t gram_set; /* set whose calibration lines gram was made of, and their version */
	uint64_t gram_version;
	double ridge; /* least l that the noise allows; 0: lambda decides */
	struct bs_neighbors near;
	struct kept *kept;
	size_t kept_size;      /* floats of kept weights of a set */
	const float **weights; /* weights [neighborhood] */
	uint32_t *todo;        /* neighborhoods whose weights must be made */
	uint32_t todos;
	uint32_t *at;   /* [missing line]: where the line starts in a coil of hybrid */
	uint32_t *from; /* [missing line][near.most]: where its sources start there */
	float *phase;   /* phases [tap][re, im][column], each number twice */
	size_t phase_step;
	float *expanded; /* expanded weights [BS_TEAM_MAX] */
	size_t expanded_size;
	struct solver {
		double *normal, *right;
		uint32_t failed; /* number of the first neighborhood whose own solve failed */
	} solver[SOLVERS];
	struct bs_grappa_ends ends;
	float *hybrid; /* the hybrid space of the run in progress */
};

static uint32_t window_of(const struct bs_grappa_spec *s)
{
	return s->kernel[1] * s->kernel[2];
}

static uint32_t most_sources(const struct bs_grappa_spec *s)
{
	const uint32_t all = window_of(s) - 1;

	return s->sources > 0 && s->sources < all ? s->sources : all;
}

static struct bs_neighbors neighbors_of(const struct bs_grappa_spec *s)
{
	return (struct bs_neighbors){ .size = { s->encoded[1], s->encoded[2] },
				      .span = { s->kernel[1], s->kernel[2] },
				      .most = most_sources(s),
				      .room = s->neighborhoods };
}

/* Returns the number of unknowns of the largest neighborhood. */
static uint32_t unknowns(const struct bs_grappa_spec *s)
{
	return most_sources(s) * s->kernel[0] * s->coils;
}

static int check_spec(const struct bs_grappa_spec *s, struct bs_fail *why)
{
	for (int a = 0; a < 3; a++)
		if (s->kernel[a] % 2 != 1)
			return bs_fail(why, BS_ERR_CONFIG, "grappa: kernel %c is %u, which is even",
				       "xyz"[a], s -> kernel[a]);
	if (s->kernel[0] > BS_GRAPPA_KERNEL_X || window_of(s) > BS_WINDOW_LINES || window_of(s) < 2)
		return bs_fail(
			why, BS_ERR_CONFIG,
			"grappa: a kernel of %u x %u x %u: at most %u along x, 3 to %u y x z",
			s->kernel[0], s->kernel[1], s->kernel[2], BS_GRAPPA_KERNEL_X,
			BS_WINDOW_LINES);
	if (s->columns == 0 || s->columns > s->encoded[0] || s->coils == 0 || s->sets == 0 ||
	    s->neighborhoods == 0 || s->neighborhoods >= UINT16_MAX ||
	    bs_grappa_lines_of(s) * s->columns * s->coils > UINT32_MAX || !(s->lambda >= 0.0))
		return bs_fail(why, BS_ERR_CONFIG, "grappa: %u coils, %u columns, %u sets",
			       s->coils, s->columns, s->sets);
	if ((uint64_t)window_of(s) * s->kernel[0] * s->coils > BS_DENSE_MAX)
		return bs_fail(why, BS_ERR_CONFIG,
			       "grappa: a kernel of %u x %u x %u with %u coils has more than %u "
			       "unknowns",
			       s->kernel[0], s->kernel[1], s->kernel[2], s->coils, BS_DENSE_MAX);
	return 0;
}

/* Sets the sizes, and states what plan takes, or takes it; all: what is kept for all sets. */
static void lay_out(struct bs_grappa *g, const struct bs_grappa_spec *s, struct kept *all,
		    struct bs_room *r)
{
	const uint64_t n = unknowns(s);
	const uint64_t windows = (uint64_t)s->sets * s->neighborhoods;

	g->s = *s;
	g->near = neighbors_of(s);
	g->kept_size = (uint64_t)s->neighborhoods * unknowns(s) * s->coils * 2 * (1 + ends_of(s));
	g->phase_step = bs_grappa_wave_floats(s->columns);
	g->expanded_size = (size_t)most_sources(s) * s->coils * 4 * BS_GRAPPA_COLUMNS;
	bs_neighbors_take(&g->near, r);
	bs_grappa_ends_take(&g->ends, s, r);
	bs_room_take(r, &g->kept, "grappa sets", 1, s->sets * sizeof(*g->kept));
	bs_room_take(r, &all->window, "grappa windows", 1, windows * sizeof(*all->window));
	bs_room_take(r, &all->at, "grappa windows", 1, windows * sizeof(*all->at));
	bs_room_take(r, &all->weights, "grappa weights", 1, s->sets * g->kept_size * sizeof(float));
	bs_room_take(r, &g->weights, "grappa neighborhoods", 1,
		     s->neighborhoods * sizeof(*g->weights));
	bs_room_take(r, &g->todo, "grappa neighborhoods", 1, s->neighborhoods * sizeof(*g->todo));
	bs_room_take(r, &g->at, "grappa lines", 1, bs_grappa_lines_of(s) * sizeof(*g->at));
	bs_room_take(r, &g->from, "grappa sources", g->near.most,
		     bs_grappa_lines_of(s) * sizeof(*g->from));
	bs_room_take(r, &g->phase, "grappa phases", s->kernel[0], g->phase_step * sizeof(float));
	bs_room_take(r, &g->expanded, "grappa weights of a block", BS_TEAM_MAX,
		     g->expanded_size * sizeof(float));
	for (uint32_t i = 0; i < SOLVERS; i++) {
		bs_room_take(r, &g->solver[i].normal, "grappa equations", 1, n * n * 16u);
		bs_room_take(r, &g->solver[i].right, "grappa right sides", 1, n * s->coils * 16u);
	}
}

int bs_grappa_need(const struct bs_grappa_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_grappa g;
	struct kept all;
	int rc = check_spec(s, why);

	if (rc == 0)
		rc = bs_gram_need(s, false, need, why);
	if (rc == 0)
		lay_out(&g, s, &all, &room);
	return rc;
}

int bs_grappa_plan(struct bs_grappa **plan, const struct bs_grappa_spec *s, struct bs_arena *arena,
		   struct bs_team *team, struct bs_fail *why)
{
	struct bs_grappa *g = calloc(1, sizeof(*g));
	struct bs_room room = { .arena = arena };
	struct kept all;
	int rc;

	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "grappa plan");
	lay_out(g, s, &all, &room);
	g->team = team;
	g->simd = BS_ISA_PICK(bs_grappa_kernels);
	rc = bs_gram_plan(&g->gram, s, false, arena, team, why);
	if (rc == 0 && room.full)
		rc = bs_fail(why, BS_ERR_NOMEM, "grappa: weights");
	if (rc == 0)
		rc = bs_dense_open(why);
	if (rc != 0) {
		bs_grappa_close(g);
		return rc;
	}
	for (uint32_t i = 0; i < s->sets; i++) {
		g->kept[i].window = all.window + (size_t)i * s->neighborhoods;
		g->kept[i].at = all.at + (size_t)i * s->neighborhoods;
		g->kept[i].weights = all.weights + i * g->kept_size;
	}
	bs_grappa_ends_tables(&g->ends, team);
	/* a weight w of shift t is w exp(-i2pi t n / columns) at column n */
	for (uint32_t t = 0; t < s->kernel[0]; t++)
		bs_grappa_wave(g->phase + t * g->phase_step, s->columns,
			       (int)t - (int)s->kernel[0] / 2, 1.0);
	*plan = g;
	return 0;
}

void bs_grappa_close(struct bs_grappa *g)
{
	if (g == NULL)
		return;
	bs_gram_close(&g->gram);
	free(g);
}

/* ---- weights ---- */

static uint32_t unknowns_of(const struct bs_grappa *g, const struct bs_neighborhood *p)
{
	return p->sources * g->s.kernel[0] * g->s.coils;
}

/* Floats of a neighborhood's weights, without those of the ends. */
static size_t weights_size(const struct bs_grappa *g, const struct bs_neighborhood *p)
{
	return (size_t)2 * unknowns_of(g, p) * g->s.coils;
}

/* Finds places among the set's weights for all neighborhoods, and lists those still to be made. */
static bool place_weights(struct bs_grappa *g, struct kept *k)
{
	g->todos = 0;
	for (uint32_t p = 0; p < g->near.count; p++) {
		const struct bs_neighborhood *one = &g->near.one[p];
		const size_t size = weights_size(g, one) * (1 + ends_of(&g->s));
		uint32_t i = 0;

		while (i < k->count && k->window[i] != one->window)
			i++;
		if (i == k->count) {
			if (i == g->s.neighborhoods || size > g->kept_size - k->used)
				return false;
			k->window[i] = one->window;
			k->at[i] = k->used;
			k->used += size;
			k->count++;
			g->todo[g->todos++] = p;
		}
		g->weights[p] = k->weights + k->at[i];
	}
	return true;
}

static void forget(struct kept *k)
{
	k->version = k->count = 0;
	k->used = 0;
}

/* The samples of the kernel, first .. end - 1. */
struct taps {
	uint32_t first, end;
};

/* The taps of variant 0 (the kernel lies inside the readout) and of the ends, 1 .. ends. */
static struct taps taps_of(const struct bs_grappa *g, uint32_t variant)
{
	const uint32_t kx = g->s.kernel[0];
	const uint32_t reach = kx / 2;

	if (variant == 0)
		return (struct taps){ 0, kx };
	return variant <= reach ? (struct taps){ reach + 1 - variant, kx }
				: (struct taps){ 0, kx + reach - variant };
}

/* Returns the first row of G of a neighborhood's source. */
static size_t row_of(const struct bs_grappa *g, const struct bs_neighborhood *p, uint32_t source)
{
	const uint32_t z = (uint32_t)(p->dz[source] + (int)g->s.kernel[2] / 2);
	const uint32_t y = (uint32_t)(p->dy[source] + (int)g->s.kernel[1] / 2);

	return (size_t)(z * g->s.kernel[1] + y) * g->s.kernel[0] * g->s.coils;
}

/*
 * Fills S^H S + l I, its lower triangle, column by column. Unknowns are [source][x][coil] as in G,
 * with x of the taps; G holds the half with the smaller offset first.
 */
static void fill_normal(const struct bs_grappa *g, const struct bs_neighborhood *p,
			struct taps taps, double *a)
{
	const uint32_t line = (taps.end - taps.first) * g->s.coils;
	const uint32_t skip = taps.first * g->s.coils;
	const uint32_t n = p->sources * line;
	double square = 0.0;
	double l;

	if (line == 0) /* there are no taps, so there are no unknowns */
		return;
	for (uint32_t j = 0; j < n; j++) {
		const double *row =
			g->gram.g + 2 * (row_of(g, p, j / line) + skip + j % line) * g->gram.order;
		double *to = a + 2 * (size_t)j * n;

		for (uint32_t i = j; i < n;) {
			const double *from = row + 2 * (row_of(g, p, i / line) + skip + i % line);

			for (uint32_t end = (i / line + 1) * line; i < end; i++, from += 2) {
				to[2 * i] = from[0];
				to[2 * i + 1] = -from[1];
				square += (i == j ? 1.0 : 2.0) *
					  (from[0] * from[0] + from[1] * from[1]);
			}
		}
	}
	l = g->s.lambda * sqrt(square) / n;
	l = l < g->ridge ? g->ridge : l;
	for (uint32_t j = 0; j < n; j++)
		a[2 * ((size_t)j * n + j)] += l;
}

/* Fills S^H T: the sources against the sample in the middle of the window. */
static void fill_right(const struct bs_grappa *g, const struct bs_neighborhood *p, struct taps taps,
		       double *b)
{
	const uint32_t line = (taps.end - taps.first) * g->s.coils;
	const uint32_t skip = taps.first * g->s.coils;
	const uint32_t n = p->sources * line;
	const size_t order = g->gram.order;
	const size_t middle =
		((size_t)(window_of(&g->s) / 2) * g->s.kernel[0] + g->s.kernel[0] / 2) * g->s.coils;

	for (uint32_t i = 0; i < n; i++) {
		const size_t row = row_of(g, p, i / line) + skip + i % line;

		for (uint32_t c = 0; c < g->s.coils; c++) {
			const bool before = row < middle;
			const double *from = g->gram.g + 2 * (before ? row * order + middle + c
								     : (middle + c) * order + row);
			double *to = b + 2 * ((size_t)c * n + i);

			to[0] = from[0];
			to[1] = before ? from[1] : -from[1];
		}
	}
}

/* Stores weights [coil out][source][tap][coil in] as float [coil out][source][coil in][x]. */
static int store_weights(const struct bs_grappa *g, uint32_t sources, struct taps taps,
			 const double *b, float *to)
{
	const uint32_t kx = g->s.kernel[0];
	const uint32_t coils = g->s.coils;
	const size_t line = (size_t)2 * (taps.end - taps.first) * coils;

	for (uint32_t o = 0; o < coils * sources; o++, b += line)
		for (uint32_t c = 0; c < coils; c++)
			for (uint32_t x = 0; x < kx; x++, to += 2) {
				const bool in = x >= taps.first && x < taps.end;
				const double *w = b + 2 * ((size_t)(x - taps.first) * coils + c);

				to[0] = in ? (float)w[0] : 0.0f;
				to[1] = in ? (float)w[1] : 0.0f;
				if (!isfinite(to[0]) || !isfinite(to[1]))
					return BS_ERR_VALUE;
			}
	return 0;
}

/* Solves every SOLVERS-th neighborhood that is to be done, from the task's number on. */
static void solve_some(void *arg, int task)
{
	struct bs_grappa *g = arg;
	struct solver *s = &g->solver[task];
	const uint32_t variants = 1 + ends_of(&g->s);

	s->failed = UINT32_MAX;
	for (uint32_t i = (uint32_t)task; i < g->todos * variants && s->failed == UINT32_MAX;
	     i += SOLVERS) {
		const uint32_t which = g->todo[i / variants];
		const struct bs_neighborhood *p = &g->near.one[which];
		const struct taps taps = taps_of(g, i % variants);
		int rc;

		fill_normal(g, p, taps, s->normal);
		fill_right(g, p, taps, s->right);
		rc = bs_dense_solve(p->sources * (taps.end - taps.first) * g->s.coils, g->s.coils,
				    s->normal, s->right, NULL);
		if (rc == 0)
			rc = store_weights(g, p->sources, taps, s->right,
					   (float *)g->weights[which] +
						   i % variants * weights_size(g, p));
		if (rc != 0)
			s->failed = which;
	}
}

/* A task subtracts a solved neighborhood's wrapping weights from those of the ends. */
static void subtract(void *arg, int task)
{
	struct bs_grappa *g = arg;
	const uint32_t which = g->todo[task];
	const size_t size = weights_size(g, &g->near.one[which]);
	const float *whole = g->weights[which];
	float *end = (float *)whole + size;

	for (uint32_t e = 0; e < ends_of(&g->s); e++, end += size)
		for (size_t i = 0; i < size; i++)
			end[i] -= whole[i];
}

static int make_weights(struct bs_grappa *g, struct bs_fail *why)
{
	const struct bs_neighborhood *p;
	uint32_t failed = UINT32_MAX;
	uint32_t line;

	bs_team_do(g->team, solve_some, g, (int)SOLVERS);
	for (uint32_t i = 0; i < SOLVERS; i++)
		failed = g->solver[i].failed < failed ? g->solver[i].failed : failed;
	if (failed == UINT32_MAX) {
		bs_team_do(g->team, subtract, g, (int)g->todos);
		return 0;
	}
	p = &g->near.one[failed];
	line = g->near.missing[p->first];
	return bs_fail(why, BS_ERR_VALUE,
		       "grappa: %u x %u calibration lines do not determine the weights of the "
		       "line at ky %u, kz %u from %u lines",
		       g->gram.box[0], g->gram.box[1], line % g->s.encoded[1],
		       line / g->s.encoded[1], p->sources);
}

int bs_grappa_prepare(struct bs_grappa *g, uint32_t set, const uint8_t *have,
		      const struct bs_grappa_lines *calibration, struct bs_fail *why)
{
	struct kept *k = &g->kept[set];
	int rc;

	if (k->version != calibration->version)
		forget(k);
	k->version = calibration->version;
	rc = bs_neighbors_find(&g->near, have, why);
	if (rc == 0 && !place_weights(g, k)) {
		forget(k);
		k->version = calibration->version;
		(void)place_weights(g, k); /* there is room for the weights of one frame */
	}
	if (rc != 0 || g->todos == 0)
		return rc;
	if (g->gram_version != calibration->version || g->gram_set != set) {
		g->gram_version = 0;
		rc = bs_gram_make(&g->gram, calibration, why);
		if (rc == 0) {
			g->gram_version = calibration->version;
			g->gram_set = set;
			g->ridge = g->s.by_noise ? 2.0 * bs_gram_noise(&g->gram) : 0.0;
		}
	}
	if (rc == 0)
		rc = make_weights(g, why);
	if (rc != 0)
		forget(k);
	return rc;
}

bool bs_grappa_made(const struct bs_grappa *g)
{
	return g->todos > 0;
}

const struct bs_neighbors *bs_grappa_neighbors(const struct bs_grappa *g)
{
	return &g->near;
}

const float *bs_grappa_weights(const struct bs_grappa *g, uint32_t neighborhood)
{
	return g->weights[neighborhood];
}

/* ---- application ---- */

static uint32_t wrap(uint32_t index, uint32_t size)
{
	return index < size / 2 ? index + size - size / 2 : index - size / 2;
}

/* Returns where a line starts in a coil of hybrid, in complex values. */
static uint32_t line_start(const struct bs_grappa *g, uint32_t y, uint32_t z, bool wrapped)
{
	const uint32_t *E = g->s.encoded;

	if (wrapped)
		return (wrap(z, E[2]) * E[1] + wrap(y, E[1])) * g->s.columns;
	return (z * E[1] + y) * g->s.columns;
}

static void find_lines(struct bs_grappa *g, bool wrapped)
{
	for (uint32_t i = 0; i < g->near.count; i++) {
		const struct bs_neighborhood *p = &g->near.one[i];

		for (uint32_t h = p->first; h < p->first + p->count; h++) {
			const uint32_t y = g->near.missing[h] % g->s.encoded[1];
			const uint32_t z = g->near.missing[h] / g->s.encoded[1];
			uint32_t *from = g->from + (size_t)p->first * g->near.most +
					 (size_t)(h - p->first) * p->sources;

			g->at[h] = line_start(g, y, z, wrapped);
			for (uint32_t s = 0; s < p->sources; s++)
				from[s] = line_start(g, (uint32_t)((int)y + p->dy[s]),
						     (uint32_t)((int)z + p->dz[s]), wrapped);
		}
	}
}

/* A task fills a block of columns of one coil. */
static void fill_block(void *arg, int task, int member)
{
	struct bs_grappa *g = arg;
	const uint32_t coil = (uint32_t)task % g->s.coils;
	const uint32_t x = (uint32_t)task / g->s.coils * BS_GRAPPA_COLUMNS;
	const uint32_t left = g->s.columns - x;
	const size_t step = (size_t)bs_grappa_lines_of(&g->s) * g->s.columns;
	float *in = g->hybrid + 2 * (size_t)x;
	float *expanded = g->expanded + (size_t)member * g->expanded_size;

	for (uint32_t i = 0; i < g->near.count; i++) {
		const struct bs_neighborhood *p = &g->near.one[i];

		g->simd->expand(g->weights[i] + (size_t)2 * coil * unknowns_of(g, p),
				p->sources * g->s.coils, g->s.kernel[0], g->phase + 2 * (size_t)x,
				g->phase_step, expanded);
		const uint32_t *from = g->from + (size_t)p->first * g->near.most;
		const struct bs_filling l = { expanded, p->sources,       g->s.coils, p->count,
					      step,     g->at + p->first, from };

		g->simd->fill(&l, in, in + 2 * coil * step,
			      left < BS_GRAPPA_COLUMNS ? left : BS_GRAPPA_COLUMNS);
	}
}

void bs_grappa_fill(struct bs_grappa *g, float *hybrid, bool wrapped)
{
	const uint32_t blocks = (g->s.columns + BS_GRAPPA_COLUMNS - 1) / BS_GRAPPA_COLUMNS;

	g->hybrid = hybrid;
	find_lines(g, wrapped);
	bs_team_run(g->team, fill_block, g, (int)(blocks * g->s.coils));
	bs_grappa_ends_run(&g->ends, &g->near, g->weights, g->at, g->from, hybrid);
}
