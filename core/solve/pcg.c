/* core/solve/pcg.c - see pcg.h */
#include "core/solve/pcg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/solve/dot.h"
#include "core/thread/clock.h"

/* Values of one task: the blocks of four vectors stay in the second-level cache. */
#define BLOCK 8192u

struct bs_pcg {
	struct bs_pcg_spec s;
	struct bs_team *team;
	float *r, *z, *p, *ap; /* vectors; without a preconditioner z is r */
	double *partial;       /* [block] partial sums */
	double *history;
	int64_t last_longest_ns;
	/* arguments of the operation in progress */
	float *x;
	const float *b;
	float alpha, beta;
};

static uint64_t blocks_of(const struct bs_pcg_spec *s)
{
	return (s->size + BLOCK - 1) / BLOCK;
}

static void lay_out(struct bs_pcg *g, struct bs_room *r)
{
	bs_room_take(r, &g->r, "solver vectors", g->s.precond ? 4 : 3, g->s.size * 8);
	bs_room_take(r, &g->partial, "partial sums", 1, blocks_of(&g->s) * 8);
	bs_room_take(r, &g->history, "residual history", 1, ((uint64_t)g->s.iterations + 1) * 8);
}

int bs_pcg_need(const struct bs_pcg_spec *s, struct bs_need *need, struct bs_fail *why)
{
	struct bs_room room = { .need = need };
	struct bs_pcg g = { .s = *s };

	if (s->size == 0 || s->size > UINT64_C(1) << 40 || s->iterations == 0 ||
	    s->iterations > 1000000)
		return bs_fail(why, BS_ERR_CONFIG,
			       "conjugate gradients: %llu values, %u iterations",
			       (unsigned long long)s->size, s->iterations);
	lay_out(&g, &room);
	return 0;
}

int bs_pcg_plan(struct bs_pcg **plan, const struct bs_pcg_spec *s, struct bs_arena *arena,
		struct bs_team *team, struct bs_fail *why)
{
	struct bs_pcg *g = calloc(1, sizeof(*g));
	const size_t step = (size_t)bs_slot(s->size * 8) / sizeof(*g->r);
	struct bs_room room = { .arena = arena };

	if (g == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "conjugate gradients");
	g->s = *s;
	g->team = team;
	lay_out(g, &room);
	g->p = g->r + step;
	g->ap = g->p + step;
	g->z = s->precond ? g->ap + step : g->r;
	if (room.full) {
		free(g);
		return bs_fail(why, BS_ERR_NOMEM, "conjugate gradients: the arena is too small");
	}
	*plan = g;
	return 0;
}

void bs_pcg_close(struct bs_pcg *g)
{
	free(g);
}

static size_t span(const struct bs_pcg *g, int task, size_t *from)
{
	uint64_t at = (uint64_t)task * BLOCK;
	uint64_t n = g->s.size - at < BLOCK ? g->s.size - at : BLOCK;

	*from = (size_t)at * 2;
	return (size_t)n * 2;
}

static double run(struct bs_pcg *g, void (*fn)(void *, int))
{
	double sum = 0.0;
	uint64_t blocks = blocks_of(&g->s);

	bs_team_do(g->team, fn, g, (int)blocks);
	for (uint64_t i = 0; i < blocks; i++)
		sum += g->partial[i];
	return sum;
}

static void start_solve(void *arg, int task) /* Sets x = 0 and r = b, and sums r.r. */
{
	struct bs_pcg *g = arg;
	size_t from;
	size_t n = span(g, task, &from);

	memset(g->x + from, 0, n * 4);
	memcpy(g->r + from, g->b + from, n * 4);
	g->partial[task] = bs_dot(g->r + from, g->r + from, n);
}

static void dot_rz(void *arg, int task)
{
	struct bs_pcg *g = arg;
	size_t from;
	size_t n = span(g, task, &from);

	g->partial[task] = bs_dot(g->r + from, g->z + from, n);
}

static void dot_pap(void *arg, int task)
{
	struct bs_pcg *g = arg;
	size_t from;
	size_t n = span(g, task, &from);

	g->partial[task] = bs_dot(g->p + from, g->ap + from, n);
}

/* Adds alpha p to x, subtracts alpha A p from r, and sums r.r. */
static void step_along(void *arg, int task)
{
	struct bs_pcg *g = arg;
	size_t from;
	size_t n = span(g, task, &from);
	const float *restrict p = g->p + from;
	const float *restrict ap = g->ap + from;
	float *restrict x = g->x + from;
	float *restrict r = g->r + from;
	const float alpha = g->alpha;

	for (size_t i = 0; i < n; i++)
		x[i] += alpha * p[i];
	for (size_t i = 0; i < n; i++)
		r[i] -= alpha * ap[i];
	g->partial[task] = bs_dot(r, r, n);
}

static void set_direction(void *arg, int task) /* Sets p = z + beta p. */
{
	struct bs_pcg *g = arg;
	size_t from;
	size_t n = span(g, task, &from);
	const float *restrict z = g->z + from;
	float *restrict p = g->p + from;
	const float beta = g->beta;

	for (size_t i = 0; i < n; i++)
		p[i] = z[i] + beta * p[i];
}

static void distance(void *arg, int task) /* Sums |b - A x|^2, with A x in ap. */
{
	struct bs_pcg *g = arg;
	size_t from;
	size_t n = span(g, task, &from);
	double sum = 0.0;

	for (size_t i = from; i < from + n; i++) {
		const double d = (double)g->b[i] - (double)g->ap[i];

		sum += d * d;
	}
	g->partial[task] = sum;
}

/* z = M^-1 r; returns r.z. Without a preconditioner z is r, and rr is r.r. */
static double precondition(struct bs_pcg *g, const struct bs_pcg_system *system, double rr)
{
	if (system->precond == NULL)
		return rr;
	system->precond(system->self, g->r, g->z);
	return run(g, dot_rz);
}

void bs_pcg_solve(struct bs_pcg *g, const struct bs_pcg_system *system, const float *b, float *x,
		  const struct bs_pcg_stop *stop, struct bs_pcg_result *result)
{
	uint32_t most = stop->iterations < g->s.iterations ? stop->iterations : g->s.iterations;
	int64_t longest_ns = 0;
	double rr;
	double rz;
	double bb;
	uint32_t i;

	g->x = x;
	g->b = b;
	bb = run(g, start_solve);
	memset(result, 0, sizeof(*result));
	result->history = g->history;
	result->residual = g->history[0] = bb == 0.0 ? 0.0 : 1.0;
	if (!(bb > 0.0) || !isfinite(bb))
		return;
	rr = bb;
	rz = precondition(g, system, rr);
	g->beta = 0.0f;
	for (i = 0; i < most; i++) {
		int64_t began_ns = bs_now_ns();
		int64_t expected_ns =
			longest_ns > g->last_longest_ns ? longest_ns : g->last_longest_ns;
		double pap;
		double next;

		/* time for this iteration, and for the application behind the last one */
		if (i > 0 && began_ns > stop->deadline_ns - 2 * expected_ns) {
			result->deadline_stop = true;
			break;
		}
		if (i == 0)
			memcpy(g->p, g->z, (size_t)g->s.size * 8);
		else
			bs_team_do(g->team, set_direction, g, (int)blocks_of(&g->s));
		system->apply(system->self, g->p, g->ap);
		pap = run(g, dot_pap);
		if (!(pap > 0.0) || !isfinite(pap) || !(rz > 0.0))
			break;
		g->alpha = (float)(rz / pap);
		rr = run(g, step_along);
		g->history[i + 1] = sqrt(rr / bb);
		next = precondition(g, system, rr);
		g->beta = (float)(next / rz);
		rz = next;
		if (bs_now_ns() - began_ns > longest_ns)
			longest_ns = bs_now_ns() - began_ns;
		if (g->history[i + 1] <= stop->tolerance || g->history[i + 1] <= BS_PCG_ROUND_OFF) {
			i++;
			break;
		}
	}
	g->last_longest_ns = longest_ns;
	if (i > 0) {
		system->apply(system->self, x, g->ap);
		g->history[i] = sqrt(run(g, distance) / bb);
	}
	result->iterations = i;
	result->residual = g->history[i];
}
