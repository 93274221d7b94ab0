/* gpu/grappa/ends.c - see ends.h */
#include "gpu/grappa/ends.h"

#include <math.h>
#include <string.h>

#define TAU 6.28318530717958647692

static uint64_t wave_bytes(const struct bs_grappa_spec *s)
{
	return (uint64_t)s->kernel[0] / 2 * 4 * s->columns * 8;
}

static uint64_t samples_bytes(const struct bs_grappa_spec *s)
{
	return bs_grappa_lines_of(s) * s->coils * (s->kernel[0] / 2 * 4) * 8;
}

void bs_grappa_ends_need(const struct bs_grappa_spec *s, struct bs_need *need)
{
	if (s->kernel[0] == 1)
		return;
	bs_need_add(need, "grappa waves of the ends", 1, wave_bytes(s));
	bs_need_add(need, "grappa samples at the ends", 1, samples_bytes(s));
}

/*
 * Returns the sample of the readout that index i of wave and samples stands for: the first 2 reach,
 * then the last 2 reach.
 */
static uint32_t sample_of(const struct bs_grappa_ends *e, uint32_t i)
{
	return i < 2 * e->reach ? i : e->columns - 4 * e->reach + i;
}

int bs_grappa_ends_plan(struct bs_grappa_ends *e, const struct bs_grappa_spec *s,
			struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	const int half = (int)s->columns / 2;

	memset(e, 0, sizeof(*e));
	e->columns = s->columns;
	e->coils = s->coils;
	e->taps = s->kernel[0];
	e->reach = s->kernel[0] / 2;
	e->lines = (uint32_t)bs_grappa_lines_of(s);
	e->team = team;
	if (e->reach == 0)
		return 0;
	e->wave = bs_arena_take(arena, wave_bytes(s), BS_ALIGN);
	e->samples = bs_arena_take(arena, samples_bytes(s), BS_ALIGN);
	if (e->wave == NULL || e->samples == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "grappa: the ends of readouts");
	for (uint32_t i = 0; i < 4 * e->reach; i++)
		for (uint32_t x = 0; x < s->columns; x++) {
			const int product = ((int)sample_of(e, i) - half) * ((int)x - half);
			const double part = TAU * product / s->columns;
			float *to = e->wave + 2 * ((size_t)i * s->columns + x);

			to[0] = (float)cos(part);
			to[1] = (float)-sin(part);
		}
	return 0;
}

/* A task finds the sums of a line of hybrid. The sums of missing lines are not read. */
static void find_samples(void *arg, int task, int member)
{
	struct bs_grappa_ends *e = arg;
	const uint32_t n = 4 * e->reach;
	float *to = e->samples + (size_t)task * e->coils * n * 2;

	(void)member;
	for (uint32_t c = 0; c < e->coils; c++) {
		const float *in =
			e->hybrid + 2 * ((size_t)c * e->lines + (size_t)task) * e->columns;

		for (uint32_t i = 0; i < n; i++, to += 2) {
			const float *w = e->wave + 2 * (size_t)i * e->columns;
			float re = 0.0f;
			float im = 0.0f;

			for (uint32_t x = 0; x < 2 * e->columns; x += 2) {
				re += in[x] * w[x] - in[x + 1] * w[x + 1];
				im += in[x] * w[x + 1] + in[x + 1] * w[x];
			}
			to[0] = re / (float)e->columns;
			to[1] = im / (float)e->columns;
		}
	}
}

/*
 * Returns the index of the sample that tap `tap` of the kernel at end `end` reads, where the
 * readout wraps around.
 */
static uint32_t meets(const struct bs_grappa_ends *e, uint32_t end, uint32_t tap)
{
	const int n = (int)(4 * e->reach);
	const int at =
		/* sample counted from the start; samples of the last ends count from -n/2 */
		(int)end + (int)tap - (int)e->reach;

	if (end < e->reach)
		return (uint32_t)(at < 0 ? at + n : at);
	return (uint32_t)((at + n / 2) % n);
}

/*
 * Computes what the wrapping weights leave wrong at one end of one coil of a missing line. weights:
 * those of that end and coil.
 */
static void lacks(const struct bs_grappa_ends *e, uint32_t end, const float *weights,
		  const uint32_t *from, uint32_t sources, float *sum)
{
	const uint32_t n = 4 * e->reach;

	sum[0] = sum[1] = 0.0f;
	for (uint32_t s = 0; s < sources; s++) {
		const float *line = e->samples + (size_t)from[s] / e->columns * e->coils * n * 2;

		for (uint32_t c = 0; c < e->coils; c++, line += 2 * (size_t)n)
			for (uint32_t t = 0; t < e->taps; t++, weights += 2) {
				const float *d = line + 2 * (size_t)meets(e, end, t);

				sum[0] += weights[0] * d[0] - weights[1] * d[1];
				sum[1] += weights[0] * d[1] + weights[1] * d[0];
			}
	}
}

/* Adds a sample of the readout to all columns of a line. */
static void add_sample(const struct bs_grappa_ends *e, uint32_t end, const float *sample, float *to)
{
	const uint32_t place = end < e->reach ? end : 2 * e->reach + end;
	const float *w = e->wave + 2 * (size_t)place * e->columns;

	for (uint32_t x = 0; x < 2 * e->columns; x += 2) {
		to[x] += sample[0] * w[x] + sample[1] * w[x + 1];
		to[x + 1] += sample[1] * w[x] - sample[0] * w[x + 1];
	}
}

/* A task corrects one coil of a neighborhood's missing lines. */
static void mend_lines(void *arg, int task, int member)
{
	struct bs_grappa_ends *e = arg;
	const uint32_t coil = (uint32_t)task % e->coils;
	const uint32_t which = (uint32_t)task / e->coils;
	const struct bs_neighborhood *p = &e->near->one[which];
	const size_t of_coil = (size_t)2 * p->sources * e->coils * e->taps;
	const float *weights = e->weights[which] + coil * of_coil;
	float *to = e->hybrid + 2 * (size_t)coil * e->lines * e->columns;

	(void)member;
	for (uint32_t h = 0; h < p->count; h++)
		for (uint32_t end = 0; end < 2 * e->reach; end++) {
			float sample[2];

			lacks(e, end, weights + (1 + end) * of_coil * e->coils,
			      e->from + (size_t)p->first * e->near->most + (size_t)h * p->sources,
			      p->sources, sample);
			add_sample(e, end, sample, to + 2 * (size_t)e->at[p->first + h]);
		}
}

void bs_grappa_ends_run(struct bs_grappa_ends *e, const struct bs_neighbors *near,
			const float *const *weights, const uint32_t *at, const uint32_t *from,
			float *hybrid)
{
	if (e->reach == 0)
		return;
	e->near = near;
	e->weights = weights;
	e->at = at;
	e->from = from;
	e->hybrid = hybrid;
	bs_team_run(e->team, find_samples, e, (int)e->lines);
	bs_team_run(e->team, mend_lines, e, (int)(near->count * e->coils));
}
