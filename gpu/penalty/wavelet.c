/*
 * gpu/penalty/wavelet.c - Daubechies' wavelets with 4 taps, periodic; see penalty.h
 *
 * In place: a pass along an axis leaves low coefficients in the lower half of the box and high ones
 * in the upper, and the next level's box is the lower half on each axis. Along x a line is a row;
 * along y and z STRIP lines side by side are done together.
 */
#include "gpu/penalty/rows.h"

#include <math.h>
#include <string.h>

#include "core/solve/blocks.h"
#include "gpu/penalty/wavelet_simd.h"

#define STRIP 16u   /* complex values of a row that are done together */
#define ROWS  1024u /* values in the rows of one task, at least */

uint32_t bs_penalty_levels(uint32_t n)
{
	const uint32_t least = n < 16 ? n : 16;
	uint32_t levels = 0;

	for (uint32_t m = n; m >= least && m % 2 == 0 && m > 0; m /= 2)
		levels++;
	return levels;
}

uint32_t bs_penalty_shift(uint32_t grid, uint32_t axis, uint32_t levels)
{
	/* multiples of irrational numbers, one an axis, fill the shifts evenly in any order */
	static const double part[3] = { 0.6180339887498949, 0.7548776662466927,
					0.8191725133961645 };
	const double at = (double)grid * part[axis];

	return (uint32_t)((at - floor(at)) * (double)(2u << levels));
}

static void lay_out(struct bs_penalty_plan *p, struct bs_room *r)
{
	uint32_t longest = 0;

	p->wavelet = BS_ISA_PICK(bs_wavelet_kernels);
	for (int a = 0; a < 3; a++) {
		longest = p->s.matrix[a] > longest ? p->s.matrix[a] : longest;
		p->levels[a] = bs_penalty_levels(p->s.matrix[a]);
	}
	p->slot = bs_slot((uint64_t)(longest + BS_WAVELET_TAPS) * STRIP * 8);
	bs_room_take(r, &p->work, "lines of wavelets", BS_TEAM_MAX, p->slot);
	bs_room_take(r, &p->partial, "partial sums", 1, (uint64_t)bs_blocks(p->size) * 8);
	bs_room_take(r, &p->spare, "wavelet coefficients", 1, p->size * 8);
}

static uint32_t ceiling(uint32_t n, uint32_t by)
{
	return (n + by - 1) / by;
}

/* Rows along x of one task. */
static uint32_t rows_together(const uint32_t *size)
{
	return ceiling(ROWS, size[0]);
}

/* The address of a row of the box. */
static float *row_of(const struct bs_penalty_plan *p, uint64_t z, uint64_t y)
{
	return p->x + 2 * (z * p->s.matrix[1] + y) * p->s.matrix[0];
}

/* Does rows along x, numbered through the box's y, z and the images. */
static void pass_rows(void *arg, int task, int member)
{
	const struct bs_penalty_plan *p = arg;
	const uint32_t *size = p->pass.size;
	const uint32_t rows = size[1] * size[2] * p->s.images;
	const uint32_t many = rows_together(size);
	const uint32_t first = (uint32_t)task * many;

	for (uint32_t i = first; i < first + many && i < rows; i++) {
		const uint32_t slab = i / size[1];
		const uint64_t z = (uint64_t)(slab / size[2]) * p->s.matrix[2] + slab % size[2];

		p->wavelet->row(row_of(p, z, i % size[1]), size[0], p->pass.shift, p->pass.inverse,
				bs_penalty_work(p, member));
	}
}

/* Does one strip along y or z. */
static void pass_strip(void *arg, int task, int member)
{
	const struct bs_penalty_plan *p = arg;
	const uint32_t *size = p->pass.size;
	const uint32_t *n = p->s.matrix;
	const bool y = p->pass.axis == 1;
	const uint32_t strips = ceiling(size[0], STRIP);
	const uint32_t from = (uint32_t)task % strips * STRIP;
	const uint32_t other = (uint32_t)task / strips % size[y ? 2 : 1];
	const uint64_t image = (uint64_t)((uint32_t)task / strips / size[y ? 2 : 1]) * n[2];
	float *at = (y ? row_of(p, image + other, 0) : row_of(p, image, other)) + (size_t)2 * from;
	const uint32_t wide = size[0] - from < STRIP ? size[0] - from : STRIP;

	p->wavelet->strip(at, (size_t)2 * n[0] * (y ? 1 : n[1]), size[p->pass.axis],
			  (size_t)2 * wide, p->pass.shift, p->pass.inverse,
			  bs_penalty_work(p, member));
}

/* Passes along an axis of the box of a level; the first level's grid is shifted. */
static void pass(struct bs_penalty_plan *p, uint32_t level, uint32_t axis, uint32_t shift,
		 bool inverse)
{
	uint32_t *size = p->pass.size;
	uint32_t n;

	for (uint32_t a = 0; a < 3;
	     a++) { /* an axis done earlier in this level has its box still */
		const uint32_t halved = level < p->levels[a] ? level : p->levels[a];

		size[a] = p->s.matrix[a] >> halved;
	}
	n = size[axis];
	p->pass.axis = axis;
	p->pass.inverse = inverse;
	/* the first coefficient begins 2 places before the first value of the shifted image */
	p->pass.shift = (3 * n - 2 - (level == 0 ? shift % n : 0)) % n;
	if (axis == 0)
		bs_team_run(p->team, pass_rows, p,
			    (int)ceiling(size[1] * size[2] * p->s.images, rows_together(size)));
	else
		bs_team_run(p->team, pass_strip, p,
			    (int)(ceiling(size[0], STRIP) * size[axis == 1 ? 2 : 1] * p->s.images));
}

static void transform(struct bs_penalty_plan *p, float *x, const uint32_t shift[3], bool inverse)
{
	uint32_t levels = 0;

	p->x = x;
	for (int a = 0; a < 3; a++)
		levels = p->levels[a] > levels ? p->levels[a] : levels;
	for (uint32_t i = 0; i < 3 * levels; i++) {
		const uint32_t at = inverse ? 3 * levels - 1 - i : i;

		if (at / 3 < p->levels[at % 3])
			pass(p, at / 3, at % 3, shift[at % 3], inverse);
	}
}

/* Shrinks coefficients by the threshold, and sums the moduli of what is left. */
static void shrink(void *arg, int task)
{
	const struct bs_penalty_plan *p = arg;
	uint64_t from;
	const uint64_t n = bs_block(p->size, task, &from);

	p->partial[task] = p->wavelet->shrink(p->x + 2 * from, n, (float)p->threshold);
}

/* Takes the step of one grid; returns what is left of its coefficients. */
static double step_on_grid(struct bs_penalty_plan *p, const uint32_t shift[3], double threshold,
			   float *x)
{
	transform(p, x, shift, false);
	p->threshold = threshold;
	bs_team_do(p->team, shrink, p, bs_blocks(p->size));
	transform(p, x, shift, true);
	return bs_penalty_sum(p, (uint64_t)bs_blocks(p->size));
}

static void average(void *arg, int task) /* Sets x to the mean of it and spare. */
{
	const struct bs_penalty_plan *p = arg;
	uint64_t from;
	const uint64_t n = bs_block(p->size, task, &from);
	const float *restrict other = p->spare + 2 * from;
	float *restrict x = p->x + 2 * from;

	for (uint64_t i = 0; i < 2 * n; i++)
		x[i] = 0.5f * (x[i] + other[i]);
}

static double wavelet_prox(void *self, double step, uint32_t iteration, float *x)
{
	struct bs_penalty_plan *p = self;
	uint32_t shift[2][3] = { { 0 } };
	double sum;

	if (!p->s.shifts)
		return p->lambda * step_on_grid(p, shift[0], p->lambda * step, x);
	for (uint32_t i = 0; i < 6; i++)
		shift[i / 3][i % 3] =
			bs_penalty_shift(2 * iteration + i / 3, i % 3, p->levels[i % 3]);
	memcpy(p->spare, x, (size_t)p->size * 8);
	sum = step_on_grid(p, shift[1], p->lambda * step, p->spare);
	sum += step_on_grid(p, shift[0], p->lambda * step, x);
	bs_team_do(p->team, average, p, bs_blocks(p->size));
	return 0.5 * p->lambda * sum;
}

static double wavelet_value(void *self, const float *x)
{
	static const uint32_t none[3];
	struct bs_penalty_plan *p = self;

	memcpy(p->spare, x, (size_t)p->size * 8);
	transform(p, p->spare, none, false);
	p->threshold = 0.0;
	bs_team_do(p->team, shrink, p, bs_blocks(p->size));
	return p->lambda * bs_penalty_sum(p, (uint64_t)bs_blocks(p->size));
}

const struct bs_penalty_row bs_penalty_wavelet = {
	.lay_out = lay_out,
	.value = wavelet_value,
	.prox = wavelet_prox,
};
