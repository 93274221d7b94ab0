/* gpu/image/phasestep.c - see phasestep.h */
#include "gpu/image/phasestep.h"

#include <math.h>
#include <stdlib.h>

#include "core/sizes.h"

#define BLOCK  8192u /* voxels of one task */
#define SIGNAL 0.01  /* least |p| that counts as signal, as a share of the largest |p| */
#define LEVELS 16    /* most levels, enough for 2^15 voxels on an axis */

struct level {
	uint32_t size[3];
	uint64_t at; /* complex values in the sums of the levels before this one */
};

struct bs_phasestep {
	struct level level[LEVELS]; /* level 0 is p itself */
	uint32_t levels, coils;
	uint64_t voxels;
	struct bs_team *team;
	float *sums;  /* sums of voxels, [level][z][y][x] complex */
	float *rough; /* p before it is smoothed */
	/* These members belong to the run in progress. */
	const float *first, *second;
	float *step;
	double least; /* least |p|^2 that counts as signal */
};

/*
 * Lays out blocks of twice the size from level to level, up to one for all. Returns the complex
 * values of all levels.
 */
static uint64_t lay_out(struct bs_phasestep *t, const uint32_t matrix[3])
{
	uint64_t at = 0;

	for (t->levels = 0; t->levels < LEVELS; t->levels++) {
		struct level *l = &t->level[t->levels];

		for (int a = 0; a < 3; a++)
			l->size[a] = t->levels == 0 ? matrix[a] : (l[-1].size[a] + 1) / 2;
		l->at = at;
		at += bs_box_size(l->size);
		if (bs_box_size(l->size) == 1) {
			t->levels++;
			break;
		}
	}
	return at;
}

int bs_phasestep_need(const uint32_t matrix[3], struct bs_need *need, struct bs_fail *why)
{
	struct bs_phasestep t;

	(void)why;
	bs_need_add(need, "echoes' product", 1, lay_out(&t, matrix) * 8);
	bs_need_add(need, "echoes' product, rough", 1, bs_box_size(matrix) * 8);
	return 0;
}

int bs_phasestep_plan(struct bs_phasestep **plan, const uint32_t matrix[3], uint32_t coils,
		      struct bs_arena *arena, struct bs_team *team, struct bs_fail *why)
{
	struct bs_phasestep *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "field map");
	t->coils = coils;
	t->team = team;
	t->voxels = bs_box_size(matrix);
	t->sums = bs_arena_take(arena, (size_t)lay_out(t, matrix) * 8, BS_ALIGN);
	t->rough = bs_arena_take(arena, (size_t)t->voxels * 8, BS_ALIGN);
	if (t->sums == NULL || t->rough == NULL) {
		free(t);
		return bs_fail(why, BS_ERR_NOMEM, "field map: the arena is too small");
	}
	*plan = t;
	return 0;
}

void bs_phasestep_close(struct bs_phasestep *t)
{
	free(t);
}

static int blocks(const struct bs_phasestep *t)
{
	return (int)((t->voxels + BLOCK - 1) / BLOCK);
}

static uint64_t end_of(const struct bs_phasestep *t, int task)
{
	const uint64_t end = ((uint64_t)task + 1) * BLOCK;

	return end < t->voxels ? end : t->voxels;
}

static void multiply_echoes(void *arg, int task)
{
	const struct bs_phasestep *t = arg;

	for (uint64_t v = (uint64_t)task * BLOCK; v < end_of(t, task); v++) {
		double re = 0.0;
		double im = 0.0;

		for (uint32_t c = 0; c < t->coils; c++) {
			const float *a = t->first + 2 * (c * t->voxels + v);
			const float *b = t->second + 2 * (c * t->voxels + v);

			re += (double)a[0] * b[0] + (double)a[1] * b[1];
			im += (double)a[0] * b[1] - (double)a[1] * b[0];
		}
		t->rough[2 * v] = (float)re;
		t->rough[2 * v + 1] = (float)im;
	}
}

static void smooth(void *arg, int task)
{
	const struct bs_phasestep *t = arg;
	const uint32_t *n = t->level[0].size;

	for (uint64_t v = (uint64_t)task * BLOCK; v < end_of(t, task); v++) {
		const int64_t at[3] = { (int64_t)(v % n[0]), (int64_t)(v / n[0] % n[1]),
					(int64_t)(v / n[0] / n[1]) };
		double re = 0.0;
		double im = 0.0;

		for (int64_t z = at[2] - 1; z <= at[2] + 1; z++)
			for (int64_t y = at[1] - 1; y <= at[1] + 1; y++)
				for (int64_t x = at[0] - 1; x <= at[0] + 1; x++) {
					const float *p;
					const double w = (x == at[0] ? 0.5 : 0.25) *
							 (y == at[1] ? 0.5 : 0.25) *
							 (z == at[2] ? 0.5 : 0.25);

					if (x < 0 || y < 0 || z < 0 || x >= n[0] || y >= n[1] ||
					    z >= n[2])
						continue;
					p = t->rough + 2 * ((z * n[1] + y) * n[0] + x);
					re += w * (double)p[0];
					im += w * (double)p[1];
				}
		t->sums[2 * v] = (float)re;
		t->sums[2 * v + 1] = (float)im;
	}
}

/* Sums one level from the level below. */
static void pull(struct bs_phasestep *t, uint32_t level)
{
	const struct level *from = &t->level[level - 1];
	const struct level *to = &t->level[level];
	const float *in = t->sums + 2 * from->at;
	float *out = t->sums + 2 * to->at;

	for (uint64_t v = 0; v < 2 * bs_box_size(to->size); v++)
		out[v] = 0.0f;
	for (uint32_t z = 0; z < from->size[2]; z++)
		for (uint32_t y = 0; y < from->size[1]; y++)
			for (uint32_t x = 0; x < from->size[0]; x++, in += 2) {
				float *p = out + 2 * (((uint64_t)(z / 2) * to->size[1] + y / 2) *
							      to->size[0] +
						      x / 2);

				p[0] += in[0];
				p[1] += in[1];
			}
}

static double power(const float *p)
{
	return (double)p[0] * p[0] + (double)p[1] * p[1];
}

/* The smallest block around the voxel that has signal; if none has, the block of all voxels. */
static const float *block_of(const struct bs_phasestep *t, const uint32_t at[3])
{
	const float *p = NULL;

	for (uint32_t l = 0; l < t->levels; l++) {
		const uint32_t *n = t->level[l].size;

		p = t->sums +
		    2 * (t->level[l].at + ((uint64_t)(at[2] >> l) * n[1] + (at[1] >> l)) * n[0] +
			 (at[0] >> l));
		if (power(p) >= t->least)
			break;
	}
	return p;
}

static void find_steps(void *arg, int task)
{
	const struct bs_phasestep *t = arg;
	const uint32_t *n = t->level[0].size;

	for (uint64_t v = (uint64_t)task * BLOCK; v < end_of(t, task); v++) {
		const uint32_t at[3] = { (uint32_t)(v % n[0]), (uint32_t)(v / n[0] % n[1]),
					 (uint32_t)(v / n[0] / n[1]) };
		const float *p = block_of(t, at);

		t->step[v] = atan2f(p[1], p[0]);
	}
}

static bool wraps(const struct bs_phasestep *t)
{
	const uint32_t *n = t->level[0].size;
	const uint64_t step[3] = { 1, n[0], (uint64_t)n[0] * n[1] };

	for (uint64_t v = 0; v < t->voxels; v++) {
		const uint32_t at[3] = { (uint32_t)(v % n[0]), (uint32_t)(v / n[0] % n[1]),
					 (uint32_t)(v / n[0] / n[1]) };

		for (int a = 0; a < 3 && power(t->sums + 2 * v) >= t->least; a++) {
			const uint64_t w = v + step[a];

			if (at[a] + 1 < n[a] && power(t->sums + 2 * w) >= t->least &&
			    fabs((double)t->step[v] - (double)t->step[w]) > M_PI)
				return true;
		}
	}
	return false;
}

bool bs_phasestep_run(struct bs_phasestep *t, const float *first, const float *second, float *step)
{
	double most = 0.0;

	t->first = first;
	t->second = second;
	t->step = step;
	bs_team_do(t->team, multiply_echoes, t, blocks(t));
	bs_team_do(t->team, smooth, t, blocks(t));
	/* fmax is not used, because gcc 12 for aarch64 fails over it */
	for (uint64_t v = 0; v < t->voxels; v++) {
		const double p = power(t->sums + 2 * v);

		if (p > most)
			most = p;
	}
	t->least = SIGNAL * SIGNAL * most;
	for (uint32_t l = 1; l < t->levels; l++)
		pull(t, l);
	bs_team_do(t->team, find_steps, t, blocks(t));
	return !wraps(t);
}
