/* core/solve/offset.c - see offset.h */
#include "core/solve/offset.h"

#include <math.h>
#include <stdlib.h>

#define SIDE     (2 * BS_OFFSET_MOST + 1) /* shifts along an axis */
#define GRID     (BS_OFFSET_MOST + 1) /* of these, shifts that are tried first: every second one */
#define EDGE     0.05f /* share of the reference's largest gradient that is an edge */
#define CONTRAST 0.12  /* least share by which the largest product exceeds the mean */

struct pair {
	const uint32_t *n;
	const float *image, *reference; /* gradient magnitudes */
	float edge;                     /* least gradient of the reference that counts */
};

/* Returns the gradient's magnitude at a voxel, of values that are `step` floats apart. */
static float gradient(const float *in, const uint32_t n[3], const uint32_t at[3], uint64_t step)
{
	const uint64_t to[] = { step, step * n[0], step * n[0] * n[1] };
	const float *here = in + at[0] * to[0] + at[1] * to[1] + at[2] * to[2];
	float sum = 0.0f;

	for (int a = 0; a < 3; a++)
		if (at[a] > 0 && at[a] + 1 < n[a]) {
			const float d = *(here + to[a]) - *(here - to[a]);

			sum += d * d;
		}
	return sqrtf(sum);
}

static float gradients(float *out, const float *in, const uint32_t n[3], uint64_t step)
{
	float most = 0.0f;

	for (uint32_t z = 0; z < n[2]; z++)
		for (uint32_t y = 0; y < n[1]; y++)
			for (uint32_t x = 0; x < n[0]; x++, out++) {
				*out = gradient(in, n, (const uint32_t[]){ x, y, z }, step);
				most = fmaxf(most, *out);
			}
	return most;
}

/* The product of the image's gradients with the reference's, shifted. */
static double product(const struct pair *p, const int shift[3])
{
	const int64_t n[] = { p->n[0], p->n[1], p->n[2] };
	double sum = 0.0;

	for (int64_t z = 0; z < n[2]; z++)
		for (int64_t y = 0; y < n[1]; y++) {
			const float *row = p->reference + (z * n[1] + y) * n[0];
			const int64_t to = ((z + shift[2]) * n[1] + y + shift[1]) * n[0] + shift[0];
			const int64_t from = shift[0] < 0 ? -shift[0] : 0;
			const int64_t end = shift[0] > 0 ? n[0] - shift[0] : n[0];

			if (z + shift[2] < 0 || z + shift[2] >= n[2] || y + shift[1] < 0 ||
			    y + shift[1] >= n[1])
				continue;
			for (int64_t x = from; x < end; x++)
				if (row[x] > p->edge)
					sum += (double)row[x] * (double)p->image[to + x];
		}
	return sum;
}

/* The scores of all shifts; one that was not computed is negative. */
struct search {
	struct pair pair;
	int most[3]; /* longest shift along each axis */
	double score[SIDE * SIDE * SIDE];
	int best;
};

static const int step[3] = { 1, SIDE, SIDE *SIDE };

static int along(int shift, int axis)
{
	return shift / step[axis] % SIDE - BS_OFFSET_MOST;
}

/* Computes the score of a shift, if it is within the range. Returns false if it is not. */
static bool try_shift(struct search *s, int x, int y, int z)
{
	const int shift[] = { x, y, z };
	int at = 0;

	for (int a = 0; a < 3; a++) {
		if (abs(shift[a]) > s->most[a])
			return false;
		at += (shift[a] + BS_OFFSET_MOST) * step[a];
	}
	if (s->score[at] < 0.0)
		s->score[at] = product(&s->pair, shift);
	if (s->score[at] > s->score[s->best])
		s->best = at;
	return true;
}

/* Goes from the best shift to its best neighbor until none is better. */
static void climb(struct search *s)
{
	int from;

	do {
		from = s->best;
		for (int i = 0; i < 27; i++)
			(void)try_shift(s, along(from, 0) + i % 3 - 1,
					along(from, 1) + i / 3 % 3 - 1, along(from, 2) + i / 9 - 1);
	} while (s->best != from);
}

/* Refines the best shift by a parabola along each axis. */
static void refine(struct bs_offset *o, const struct search *s)
{
	const double *best = s->score + s->best;
	double square = 0.0;

	for (int a = 0; a < 3; a++) {
		const int at = along(s->best, a);
		double bend;

		o->voxels[a] = 0.0f;
		if (s->most[a] == 0)
			continue;
		o->found = o->found && abs(at) < s->most[a];
		if (!o->found)
			return;
		bend = best[-step[a]] - 2.0 * best[0] + best[step[a]];
		o->found = bend < 0.0;
		if (o->found)
			o->voxels[a] = (float)(at + 0.5 * (best[-step[a]] - best[step[a]]) / bend);
		square += (double)o->voxels[a] * (double)o->voxels[a];
	}
	if (o->found)
		o->length = (float)sqrt(square);
}

void bs_offset_find(struct bs_offset *o, const uint32_t n[3], const float *image, uint32_t images,
		    const float *reference, float *work)
{
	const uint64_t voxels = (uint64_t)n[0] * n[1] * n[2];
	struct search s = { .pair = { n, work + voxels, work, 0.0f },
			    .best = (step[0] + step[1] + step[2]) * BS_OFFSET_MOST };
	double sum = 0.0;
	int count = 0;

	for (uint64_t v = 0; v < voxels; v++) {
		double square = 0.0;

		for (uint64_t i = 2 * v; i < 2 * images * voxels; i += 2 * voxels)
			square += (double)image[i] * image[i] + (double)image[i + 1] * image[i + 1];
		work[v] = (float)sqrt(square);
	}
	(void)gradients(work + voxels, work, n, 1);
	s.pair.edge = EDGE * gradients(work, reference, n, 2);
	for (int a = 0; a < 3; a++)
		s.most[a] = n[a] > SIDE ? BS_OFFSET_MOST : 0;
	for (int i = 0; i < SIDE * SIDE * SIDE; i++)
		s.score[i] = -1.0;
	for (int i = 0; i < GRID * GRID * GRID; i++)
		if (try_shift(&s, 2 * (i % GRID) - BS_OFFSET_MOST,
			      2 * (i / GRID % GRID) - BS_OFFSET_MOST,
			      2 * (i / GRID / GRID) - BS_OFFSET_MOST))
			count++;
	for (int i = 0; i < SIDE * SIDE * SIDE; i++)
		sum += s.score[i] > 0.0 ? s.score[i] : 0.0;
	climb(&s);
	o->length = BS_OFFSET_MOST;
	o->found = s.score[s.best] - sum / count > CONTRAST * s.score[s.best];
	refine(o, &s);
}
