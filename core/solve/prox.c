/* core/solve/prox.c - see prox.h */
#include "core/solve/prox.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "core/solve/blocks.h"
#include "core/solve/dot.h"
#include "core/thread/clock.h"

#define SUMS 2 /* sums of one block */
/* Rise of the objective, relative to its gain, that float vectors cannot tell from none. */
#define ROUND_OFF 1e-9
/* Largest t of FISTA's sequence while the penalty changes. */
#define CHANGES_MOST 2.0

struct bs_prox {
	struct bs_prox_spec s;
	struct bs_team *team;
	/* x: best so far; z: the next one; y: point of the gradient; hx = A x, hz = A z */
	float *x, *z, *y, *hx, *hz;
	double *partial; /* [block][SUMS] */
	double *history;
	int64_t last_longest_ns;
	/* The next members belong to the operation in progress. */
	const float *b;
	double sum[SUMS];
	float c, step; /* momentum; 1 / largest eigenvalue */
};

static void lay_out(struct bs_prox *g, struct bs_room *r)
{
	bs_room_take(r, &g->x, "solver vectors", 5, g->s.size * 8);
	bs_room_take(r, &g->partial, "partial sums", 1,
		     (uint64_t)bs_blocks(g->s.size) * SUMS * sizeof(double));
	bs_room_take(r, &g->history, "objective history", 1,
		     ((uint64_t)g->s.iterations + 1) * sizeof(double));
}

int bs_prox_need(const struct bs_prox_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_prox g = { .s = *s };

	if (s->size == 0 || s->size > UINT64_C(1) << 40 || s->iterations == 0 ||
	    s->iterations > 1000000)
		return bs_fail(why, BS_ERR_CONFIG, "proximal solver: %llu values, %u iterations",
			       (unsigned long long)s->size, s->iterations);
	lay_out(&g, &room);
	return 0;
}

int bs_prox_plan(struct bs_prox **plan, const struct bs_prox_spec *s, struct bs_arena *arena,
		 struct bs_team *team, struct bs_fail *why)
{
	struct bs_prox *g = calloc(1, sizeof(*g));
	const size_t step = (size_t)bs_slot(s->size * 8) / sizeof(*g->x);
	struct bs_room room = { .arena = arena };

	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "proximal solver");
	g->s = *s;
	g->team = team;
	lay_out(g, &room);
	if (room.full) {
		free(g);
		return bs_fail(why, BS_ERR_NOMEM, "proximal solver: the arena is too small");
	}
	g->z = g->x + step;
	g->y = g->z + step;
	g->hx = g->y + step;
	g->hz = g->hx + step;
	*plan = g;
	return 0;
}

void bs_prox_close(struct bs_prox *g)
{
	free(g);
}

/* Runs fn over the blocks and adds up what it left of each. */
static void run(struct bs_prox *g, void (*fn)(void *, int))
{
	const int blocks = bs_blocks(g->s.size);

	bs_team_do(g->team, fn, g, blocks);
	for (int j = 0; j < SUMS; j++) {
		g->sum[j] = 0.0;
		for (int i = 0; i < blocks; i++)
			g->sum[j] += g->partial[i * SUMS + j];
	}
}

/* Returns the floats of a block; *from is the first of them. */
static size_t span(const struct bs_prox *g, int task, size_t *from)
{
	uint64_t at;
	const uint64_t n = bs_block(g->s.size, task, &at);

	*from = (size_t)at * 2;
	return (size_t)n * 2;
}

/* What judge sums for n floats from the first on, side by side. */
static inline void judge_some(const struct bs_prox *g, size_t first, size_t n,
			      double sum[SUMS][BS_DOT_SUMS])
{
	const float *x = g->x + first;
	const float *y = g->y + first;
	const float *z = g->z + first;
	const float *hx = g->hx + first;
	const float *hz = g->hz + first;
	const float *b = g->b + first;

	for (size_t i = 0; i < n; i++) {
		const double d = (double)z[i] - (double)x[i];

		sum[0][i] += d * (0.5 * ((double)hz[i] + (double)hx[i]) - (double)b[i]);
		sum[1][i] += ((double)y[i] - (double)z[i]) * d;
	}
}

/*
 * Sums (z - x).((A z + A x) / 2 - b), by which the objective without the penalty changes from x to
 * z (a difference of the two objectives would be all rounding near the end); and (y - z).(z - x),
 * which is above 0 where the momentum points uphill.
 */
static void judge(void *arg, int task)
{
	struct bs_prox *g = arg;
	size_t from;
	const size_t n = span(g, task, &from);
	const size_t whole = n - n % BS_DOT_SUMS;
	double sum[SUMS][BS_DOT_SUMS] = { { 0 } };
	double *to = g->partial + (size_t)task * SUMS;

	for (size_t i = from; i < from + whole; i += BS_DOT_SUMS)
		judge_some(g, i, BS_DOT_SUMS, sum);
	judge_some(g, from + whole, n - whole, sum);
	for (int i = 0; i < SUMS; i++) {
		to[i] = 0.0;
		for (int j = 0; j < BS_DOT_SUMS; j++)
			to[i] += sum[i][j];
	}
}

/*
 * Sets y = z + c (z - x), and in the place of x the gradient step from it, which needs no further
 * application: A y is the same combination of A z and A x.
 */
static void advance(void *arg, int task)
{
	struct bs_prox *g = arg;
	size_t from;
	const size_t n = span(g, task, &from);
	const float *restrict z = g->z + from;
	const float *restrict hx = g->hx + from;
	const float *restrict hz = g->hz + from;
	const float *restrict b = g->b + from;
	float *restrict x = g->x + from;
	float *restrict y = g->y + from;
	const float c = g->c;
	const float step = g->step;

	for (size_t i = 0; i < n; i++) {
		y[i] = z[i] + c * (z[i] - x[i]);
		x[i] = y[i] - step * (hz[i] + c * (hz[i] - hx[i]) - b[i]);
	}
}

static void swap(float **a, float **b)
{
	float *was = *a;

	*a = *b;
	*b = was;
}

static void norm(void *arg, int task) /* Sums |z|^2. */
{
	struct bs_prox *g = arg;
	size_t from;
	const size_t n = span(g, task, &from);

	memset(g->partial + (size_t)task * SUMS, 0, SUMS * sizeof(double));
	g->partial[task * SUMS] = bs_dot(g->z + from, g->z + from, n);
}

static void shrink(void *arg, int task) /* Sets x = step z. */
{
	struct bs_prox *g = arg;
	size_t from;
	const size_t n = span(g, task, &from);

	for (size_t i = from; i < from + n; i++)
		g->x[i] = g->step * g->z[i];
}

double bs_prox_power(struct bs_prox *g, const struct bs_prox_system *system, uint32_t steps)
{
	struct bs_random random;
	double largest = 0.0;

	bs_random_seed(&random, 1);
	for (size_t i = 0; i < 2 * g->s.size; i++)
		g->z[i] = (float)(bs_random_uniform(&random) - 0.5);
	for (uint32_t i = 0; i <= steps; i++) {
		run(g, norm);
		largest = sqrt(g->sum[0]);
		if (!(largest > 0.0) || !isfinite(largest))
			return 0.0;
		g->step = (float)(1.0 / largest);
		bs_team_do(g->team, shrink, g, bs_blocks(g->s.size));
		if (i < steps)
			system->apply(system->self, g->x, g->z);
	}
	return BS_PROX_POWER_MARGIN * largest;
}

/* Sets x and A x to where the solve starts; returns the objective there. */
static double start(struct bs_prox *g, const struct bs_prox_system *system, const float *x,
		    bool warm, double *penalty)
{
	const size_t bytes = (size_t)g->s.size * 8;

	memset(g->x, 0, bytes);
	memset(g->hx, 0, bytes);
	*penalty = 0.0;
	if (!warm)
		return 0.0;
	memcpy(g->z, x, bytes);
	system->apply(system->self, g->z, g->hz);
	run(g, judge);
	swap(&g->x, &g->z);
	swap(&g->hx, &g->hz);
	*penalty = system->penalty->value(system->penalty->self, x);
	return g->sum[0] + *penalty;
}

/* Where the solve stands between two iterations. */
struct state {
	double objective;
	double penalty; /* P(x), which is a part of it */
	double t;       /* FISTA's sequence */
	double step;    /* 1 / largest eigenvalue */
	bool plain;     /* there is no momentum in the next step */
	int still;      /* iterations in succession that gained next to nothing */
	bool ended;     /* nothing is to be gained */
};

/* Makes z the best so far, and takes the gradient step from where momentum c carries it. */
static void step_on(struct bs_prox *g, double c)
{
	g->c = (float)c;
	bs_team_do(g->team, advance, g, bs_blocks(g->s.size));
	swap(&g->x, &g->z);
	swap(&g->hx, &g->hz);
}

/* Steps on from x, whatever z is: no momentum is left. */
static void begin_plain(struct bs_prox *g, struct state *s)
{
	const size_t bytes = (size_t)g->s.size * 8;

	g->step = (float)s->step;
	bs_team_copy(g->team, g->z, g->x, bytes);
	bs_team_copy(g->team, g->hz, g->hx, bytes);
	step_on(g, 0.0);
	s->t = 1.0;
	s->plain = true;
}

/*
 * Keeps x. A plain step cannot rise: where it did by more than rounding, the step was too long or
 * the proximal step not exact enough.
 */
static void reject(struct bs_prox *g, const struct bs_penalty *penalty, struct state *s,
		   double rise)
{
	if (s->plain) {
		s->ended = !(rise > ROUND_OFF * fabs(s->objective));
		if (penalty->refine == NULL || !penalty->refine(penalty->self))
			s->step *= 0.5;
	}
	begin_plain(g, s);
}

static void accept(struct bs_prox *g, struct state *s, double rise, double tolerance, bool changes)
{
	/* a penalty that changes is averaged over its grids only while the momentum is short */
	const bool uphill = g->sum[1] > 0.0 || (changes && s->t > CHANGES_MOST);
	const double next = uphill ? 1.0 : 0.5 * (1.0 + sqrt(1.0 + 4.0 * s->t * s->t));

	step_on(g, uphill ? 0.0 : (s->t - 1.0) / next);
	s->objective += rise;
	s->still = fabs(rise) <= tolerance * fabs(s->objective) ? s->still + 1 : 0;
	s->ended = s->still == 2;
	s->t = next;
	s->plain = !(g->c > 0.0f);
}

static void iterate(struct bs_prox *g, const struct bs_prox_system *system, uint32_t iteration,
		    double tolerance, struct state *s)
{
	const struct bs_penalty *p = system->penalty;
	const double penalty = p->prox(p->self, s->step, iteration, g->z);
	double rise;

	system->apply(system->self, g->z, g->hz);
	run(g, judge);
	rise = g->sum[0] + (penalty - s->penalty);
	if (rise <= 0.0 || (p->changes && isfinite(rise))) {
		accept(g, s, rise, tolerance, p->changes);
		s->penalty = penalty;
	} else {
		reject(g, p, s, rise);
	}
}

void bs_prox_solve(struct bs_prox *g, const struct bs_prox_system *system, const float *b, float *x,
		   const struct bs_prox_stop *stop, struct bs_prox_result *result)
{
	const uint32_t most =
		stop->iterations < g->s.iterations ? stop->iterations : g->s.iterations;
	struct state s = { .step = system->largest > 0.0 ? 1.0 / system->largest : 1.0 };
	int64_t longest_ns = g->last_longest_ns;
	int64_t seen_ns = 0;
	uint32_t i;

	g->b = b;
	*result = (struct bs_prox_result){ .history = g->history };
	s.objective = g->history[0] = start(g, system, x, stop->warm, &s.penalty);
	begin_plain(g, &s);
	for (i = 0; i < most && !s.ended; i++) {
		const int64_t began_ns = bs_now_ns();
		int64_t took_ns;

		if (i > 0 && began_ns > stop->deadline_ns - longest_ns) {
			result->reason = BS_PROX_DEADLINE;
			break;
		}
		iterate(g, system, i, stop->tolerance, &s);
		g->history[i + 1] = s.objective;
		took_ns = bs_now_ns() - began_ns;
		seen_ns = took_ns > seen_ns ? took_ns : seen_ns;
		longest_ns = seen_ns > longest_ns ? seen_ns : longest_ns;
	}
	g->last_longest_ns = seen_ns;
	memcpy(x, g->x, (size_t)g->s.size * 8);
	if (s.ended)
		result->reason = BS_PROX_TOLERANCE;
	result->iterations = i;
	result->objective = s.objective;
}

const char *bs_prox_reason_words(enum bs_prox_reason reason)
{
	static const char *const words[] = { "iterations", "tolerance", "deadline" };

	return words[reason];
}
