/* gpu/grappa/ends.c - see ends.h */
#include "gpu/grappa/ends.h"

/*
 * Returns the sample of the readout that index i of wave and samples stands for: the first 2 reach,
 * then the last 2 reach.
 */
static uint32_t sample_of(const struct bs_grappa_ends *e, uint32_t i)
{
	return i < 2 * e->reach ? i : e->columns - 4 * e->reach + i;
}

void bs_grappa_ends_take(struct bs_grappa_ends *e, const struct bs_grappa_spec *s,
			 struct bs_room *r)
{
	const uint64_t lines = (uint64_t)s->encoded[1] * s->encoded[2];
	const uint64_t samples = s->kernel[0] / 2 * 4;

	*e = (struct bs_grappa_ends){ .columns = s->columns,
				      .coils = s->coils,
				      .taps = s->kernel[0],
				      .reach = s->kernel[0] / 2,
				      .lines = (uint32_t)lines,
				      .simd = BS_ISA_PICK(bs_grappa_kernels),
				      .step = bs_grappa_wave_floats(s->columns) };
	bs_room_take(r, &e->wave, "grappa waves of the ends", samples, e->step * sizeof(float));
	bs_room_take(r, &e->samples, "grappa samples at the ends", 1,
		     lines * s->coils * samples * 8);
}

void bs_grappa_ends_tables(struct bs_grappa_ends *e, struct bs_team *team)
{
	e->team = team;
	for (uint32_t i = 0; i < 4 * e->reach; i++)
		bs_grappa_wave(e->wave + i * e->step, e->columns,
			       (int)sample_of(e, i) - (int)e->columns / 2, 1.0);
}

/* A task finds the sums of a line of hybrid. The sums of missing lines are not read. */
static void find_samples(void *arg, int task)
{
	struct bs_grappa_ends *e = arg;
	const uint32_t n = 4 * e->reach;
	float *to = e->samples + (size_t)task * e->coils * n * 2;

	for (uint32_t c = 0; c < e->coils; c++, to += 2 * (size_t)n) {
		e->simd->dots(e->hybrid + 2 * ((size_t)c * e->lines + (size_t)task) * e->columns,
			      2 * e->columns, e->wave, e->step, n, to);
		for (uint32_t i = 0; i < 2 * n; i++)
			to[i] /= (float)e->columns;
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

/* A task corrects one coil of a neighborhood's missing lines. */
static void mend_lines(void *arg, int task)
{
	struct bs_grappa_ends *e = arg;
	const uint32_t coil = (uint32_t)task % e->coils;
	const uint32_t which = (uint32_t)task / e->coils;
	const struct bs_neighborhood *p = &e->near->one[which];
	const size_t of_coil = (size_t)2 * p->sources * e->coils * e->taps;
	const float *weights = e->weights[which] + coil * of_coil;
	float *to = e->hybrid + 2 * (size_t)coil * e->lines * e->columns;

	for (uint32_t h = 0; h < p->count; h++) {
		float *line = to + 2 * (size_t)e->at[p->first + h];
		float sample[2 * BS_GRAPPA_KERNEL_X];

		for (uint32_t end = 0; end < 2 * e->reach; end++)
			lacks(e, end, weights + (1 + end) * of_coil * e->coils,
			      e->from + (size_t)p->first * e->near->most + (size_t)h * p->sources,
			      p->sources, sample + 2 * (size_t)end);
		e->simd->add(line, 2 * e->columns, e->wave, e->step, e->reach, sample);
		e->simd->add(line, 2 * e->columns, e->wave + 3 * e->reach * e->step, e->step,
			     e->reach, sample + 2 * (size_t)e->reach);
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
	bs_team_do(e->team, find_samples, e, (int)e->lines);
	bs_team_do(e->team, mend_lines, e, (int)(near->count * e->coils));
}
