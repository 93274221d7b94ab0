/* gpu/grappa/separate.c - see separate.h */
#include "gpu/grappa/separate.h"

#include <string.h>

#include "core/thread/team.h"
#include "gpu/grappa/grappa.h"

/* most pairs of an end's samples and taps, in a kernel of BS_GRAPPA_KERNEL_X samples */
#define PAIRS  12u
#define CHOICE ((size_t)4 * BS_GRAPPA_COLUMNS) /* floats that a tap has in the array choice */

struct pair {
	/* end, sample: numbers from the start of the line, then from its end */
	uint32_t end, tap, sample;
};

/* Most lines that are separated at once. */
static uint32_t most_lines(const struct bs_slice_spec *s)
{
	return s->lines_y > s->reference_lines ? s->lines_y : s->reference_lines;
}

/* Lists the pairs, at most PAIRS; returns their number. */
static uint32_t list_pairs(const struct bs_slice_spec *s, struct pair *pair)
{
	const uint32_t reach = s->kernel[0] / 2;
	uint32_t n = 0;

	for (uint32_t end = 0; end < 2 * reach; end++)
		for (uint32_t tap = 0; tap < s->kernel[0]; tap++)
			if (end < reach ? end + tap < reach : end + tap >= 3 * reach)
				pair[n++] = (struct pair){ end, tap,
							   (end + tap + reach) % (2 * reach) };
	return n;
}

/* Columns of the pairs: whole vectors of any instruction set. */
static uint32_t width_of(const struct bs_slice_spec *s)
{
	const uint32_t reach = s->kernel[0] / 2;

	return (reach * (reach + 1) + 7) / 8 * 8;
}

static uint64_t beyond_bytes(const struct bs_slice_spec *s)
{
	return bs_slot((uint64_t)most_lines(s) * width_of(s) * 8);
}

bool bs_separate_size(struct bs_separate *p, const struct bs_slice_spec *s)
{
	p->s = *s;
	p->pad = s->kernel[1] / 2;
	p->rows = most_lines(s) + 2 * p->pad;
	p->row = s->columns + width_of(s);
	p->phase_step = bs_grappa_wave_floats(s->columns);
	p->expanded_size = (size_t)s->kernel[1] * s->coils * 4 * BS_GRAPPA_COLUMNS;
	return (uint64_t)p->rows * p->row * s->coils * s->bands <= UINT32_MAX;
}

void bs_separate_take(struct bs_separate *p, struct bs_room *r)
{
	const struct bs_slice_spec *s = &p->s;

	bs_room_take(r, &p->padded, "slice lines", s->coils, (uint64_t)p->rows * p->row * 8);
	bs_room_take(r, &p->phase, "slice shifts", s->kernel[0], p->phase_step * sizeof(float));
	bs_room_take(r, &p->wave, "slice waves of the ends", s->kernel[0],
		     p->phase_step * sizeof(float));
	bs_room_take(r, &p->choice, "slice taps of the ends", s->kernel[0], CHOICE * sizeof(float));
	bs_room_take(r, &p->beyond, "slice samples of the ends", BS_TEAM_MAX, beyond_bytes(s));
	bs_room_take(r, &p->expanded, "slice weights of a block", BS_TEAM_MAX,
		     p->expanded_size * sizeof(float));
	bs_room_take(r, &p->at, "slice lines measured", 1, most_lines(s) * sizeof(uint32_t));
	bs_room_take(r, &p->at_beyond, "slice lines measured", 1, most_lines(s) * sizeof(uint32_t));
	bs_room_take(r, &p->from, "slice sources", 1,
		     (uint64_t)most_lines(s) * s->kernel[1] * sizeof(uint32_t));
}

/* A weight w of shift t is w exp(-i2pi t n / columns) at column n. */
void bs_separate_tables(struct bs_separate *p, struct bs_team *team)
{
	const int reach = (int)p->s.kernel[0] / 2;
	const int half = (int)p->s.columns / 2;
	struct pair pair[PAIRS];
	const uint32_t pairs = list_pairs(&p->s, pair);

	p->team = team;
	p->simd = BS_ISA_PICK(bs_grappa_kernels);
	for (int t = 0; t <= 2 * reach; t++)
		bs_grappa_wave(p->phase + (size_t)t * p->phase_step, p->s.columns, t - reach, 1.0);
	for (int end = 0; end < 2 * reach; end++)
		bs_grappa_wave(p->wave + (size_t)end * p->phase_step, p->s.columns,
			       (end < reach ? end : (int)p->s.columns - 2 * reach + end) - half,
			       1.0);
	for (uint32_t i = 0; i < pairs; i++)
		p->choice[pair[i].tap * CHOICE + 2 * i] =
			p->choice[pair[i].tap * CHOICE + 2 * i + 1] = 1.0f;
}

void bs_separate_clear(struct bs_separate *p)
{
	memset(p->padded, 0, (size_t)p->s.coils * p->rows * p->row * 8);
}

/* The lines of padded, by weights that were expanded. at: where they are written. */
static struct bs_filling lines_of(const struct bs_separate *p, const float *expanded,
				  const uint32_t *at)
{
	return (struct bs_filling){ expanded, p->s.kernel[1],           p->s.coils,
				    p->count, (size_t)p->rows * p->row, at,
				    p->from };
}

/* Each task takes a block of columns of one coil of one band. */
static void separate_block(void *arg, int task, int member)
{
	struct bs_separate *p = arg;
	const struct bs_slice_spec *s = &p->s;
	const uint32_t outputs = p->now.bands * s->coils;
	const uint32_t which = (uint32_t)task % outputs;
	const uint32_t x = (uint32_t)task / outputs * BS_GRAPPA_COLUMNS;
	const uint32_t left = s->columns - x;
	float *expanded = p->expanded + (size_t)member * p->expanded_size;

	p->simd->expand(p->now.weights + (size_t)2 * which * bs_slice_unknowns(s),
			s->kernel[1] * s->coils, s->kernel[0], p->phase + 2 * (size_t)x,
			p->phase_step, expanded);
	const struct bs_filling l = lines_of(p, expanded, p->at);

	p->simd->fill(&l, p->padded + 2 * (size_t)x,
		      p->now.out + 2 * ((size_t)which * p->now.lines * s->columns + x),
		      left < BS_GRAPPA_COLUMNS ? left : BS_GRAPPA_COLUMNS);
}

/* Each task finds what pairs read of one coil in padded. */
static void find_ends(void *arg, int task)
{
	const struct bs_separate *p = arg;
	const uint32_t columns = p->s.columns;
	float *line = p->padded + (size_t)2 * (uint32_t)task * p->rows * p->row;
	float sample[2 * BS_GRAPPA_KERNEL_X];
	struct pair pair[PAIRS];
	const uint32_t pairs = list_pairs(&p->s, pair);

	for (uint32_t y = 0; y < p->rows; y++, line += (size_t)2 * p->row) {
		p->simd->dots(line, 2 * columns, p->wave, p->phase_step, p->s.kernel[0] / 2 * 2,
			      sample);
		for (uint32_t i = 0; i < pairs; i++) {
			float *to = line + (size_t)2 * (columns + i);

			to[0] = sample[2 * pair[i].sample] / (float)columns;
			to[1] = sample[2 * pair[i].sample + 1] / (float)columns;
		}
	}
}

/* Computes what the taps of a coil of a band have read beyond the ends: [line][pair]. */
static const float *find_beyond(const struct bs_separate *p, const float *weights, int member)
{
	const struct bs_slice_spec *s = &p->s;
	float *expanded = p->expanded + (size_t)member * p->expanded_size;
	float *beyond = p->beyond + (size_t)member * (beyond_bytes(s) / sizeof(float));

	p->simd->expand(weights, s->kernel[1] * s->coils, s->kernel[0], p->choice, CHOICE,
			expanded);
	const struct bs_filling l = lines_of(p, expanded, p->at_beyond);

	p->simd->fill(&l, p->padded + (size_t)2 * s->columns, beyond, width_of(s));
	return beyond;
}

/* Takes off a line what taps have read beyond its ends. */
static void mend_line(const struct bs_separate *p, const struct pair *pair, uint32_t pairs,
		      const float *beyond, float *line)
{
	float with[2 * BS_GRAPPA_KERNEL_X] = { 0 };

	for (uint32_t i = 0; i < pairs; i++) {
		with[2 * pair[i].end] -= beyond[2 * i];
		with[2 * pair[i].end + 1] -= beyond[2 * i + 1];
	}
	p->simd->add(line, 2 * p->s.columns, p->wave, p->phase_step, p->s.kernel[0] / 2 * 2, with);
}

double bs_separate_energy(const float *line, uint32_t columns)
{
	double sum = 0.0;

	for (uint32_t x = 0; x < 2 * columns; x++)
		sum += (double)line[x] * line[x];
	return sum;
}

static void multiply_line(float *line, uint32_t columns, const float *by)
{
	for (uint32_t x = 0; x < 2 * columns; x += 2) {
		const float re = line[x];

		line[x] = re * by[0] - line[x + 1] * by[1];
		line[x + 1] = re * by[1] + line[x + 1] * by[0];
	}
}

/* Each task finishes one coil of one band: the ends, the phase, lines that were not measured. */
static void finish_coil(void *arg, int task, int member)
{
	struct bs_separate *p = arg;
	const struct bs_separation *now = &p->now;
	const struct bs_slice_spec *s = &p->s;
	const float *weights = now->weights + (size_t)2 * (uint32_t)task * bs_slice_unknowns(s);
	const float *phases =
		now->phases == NULL
			? NULL
			: now->phases + (size_t)2 * ((uint32_t)task / s->coils) * now->lines;
	float *out = now->out + (size_t)2 * (uint32_t)task * now->lines * s->columns;
	struct pair pair[PAIRS];
	const uint32_t pairs = list_pairs(s, pair);
	const float *beyond = pairs > 0 ? find_beyond(p, weights, member) : NULL;
	double energy = 0.0;

	for (uint32_t y = 0; y < now->lines; y++) {
		float *line =
			out + (size_t)2 * bs_slice_index(y, now->lines, now->wrapped) * s->columns;

		if (now->have != NULL && now->have[y] != 1) {
			memset(line, 0, (size_t)s->columns * 8);
			continue;
		}
		if (pairs > 0) {
			mend_line(p, pair, pairs, beyond, line);
			beyond += (size_t)2 * width_of(s);
		}
		if (phases != NULL)
			multiply_line(line, s->columns, phases + 2 * (size_t)y);
		if (now->energy != NULL)
			energy += bs_separate_energy(line, s->columns);
	}
	if (now->energy != NULL)
		now->energy[task] = energy;
}

void bs_separate_run(struct bs_separate *p, const struct bs_separation *now)
{
	const struct bs_slice_spec *s = &p->s;
	const uint32_t blocks = (s->columns + BS_GRAPPA_COLUMNS - 1) / BS_GRAPPA_COLUMNS;

	p->now = *now;
	p->count = 0;
	for (uint32_t y = 0; y < now->lines; y++) {
		uint32_t *from = p->from + (size_t)p->count * s->kernel[1];

		if (now->have != NULL && now->have[y] != 1)
			continue;
		for (uint32_t i = 0; i < s->kernel[1]; i++)
			from[i] = (y + i) * p->row; /* the first kernel line lies at y - pad */
		p->at_beyond[p->count] = p->count * width_of(s);
		p->at[p->count++] = bs_slice_index(y, now->lines, now->wrapped) * s->columns;
	}
	if (s->kernel[0] > 1)
		bs_team_do(p->team, find_ends, p, (int)s->coils);
	bs_team_run(p->team, separate_block, p, (int)(blocks * now->bands * s->coils));
	bs_team_run(p->team, finish_coil, p, (int)(now->bands * s->coils));
}
