/* gpu/nufft/grid.c - sorted samples onto the grid and off it, over the team; see part.h */
#include "gpu/nufft/part.h"

#include <string.h>

struct job {
	struct bs_nufft *n;
	float *grid;
	const struct bs_lanes *lanes;
	uint64_t samples; /* samples of the chunk that are mixed */
	bool adjoint;     /* true: samples go onto the grid; false: off the grid */
	uint32_t run;     /* the first of the runs that are done in parallel */
	bs_spread_fn kernel;
};

struct copy {
	float *to;
	const float *from; /* grid to copy; NULL: zeros */
	uint64_t floats;
};

#define COPY_FLOATS 32768u /* floats that a task copies */

static void copy_task(void *arg, int task)
{
	const struct copy *j = arg;
	uint64_t first = (uint64_t)task * COPY_FLOATS;
	uint64_t count = j->floats - first < COPY_FLOATS ? j->floats - first : COPY_FLOATS;

	if (j->from != NULL)
		memcpy(j->to + first, j->from + first, count * sizeof(float));
	else
		memset(j->to + first, 0, count * sizeof(float));
}

void bs_nufft_copy(struct bs_nufft *n, float *grid, const float *from, uint64_t cells)
{
	struct copy j = { grid, from, cells * 2 * n->shape.width };

	bs_team_do(n->team, copy_task, &j, (int)((j.floats + COPY_FLOATS - 1) / COPY_FLOATS));
}

static struct bs_spread spread_of(const struct job *j, uint64_t first, uint64_t count)
{
	const struct bs_grid_shape *g = &j->n->shape;
	const struct bs_sample_table *t = &j->n->table;

	return (struct bs_spread){
		.taps = { j->n->taps[0], j->n->taps[1], j->n->taps[2] },
		.cell = t->cell + first,
		.t = { t->t[0] + first, g->dims > 1 ? t->t[1] + first : NULL,
		       g->dims > 2 ? t->t[2] + first : NULL },
		.count = count,
		.rows = g->dims > 1 ? g->taps : 1,
		.planes = g->dims > 2 ? g->taps : 1,
		.row = g->row * 2 * g->width,
		.plane = g->plane * 2 * g->width,
		.grid = j->grid,
	};
}

/*
 * Least bytes of data for mixing. Samples in sector order are scattered over each coil's data.
 * Where these outgrow the caches, the samples are first brought side by side, [sample][width], in
 * one pass in the order of memory: then one cache line holds a sample of every coil instead of one
 * coil.
 */
/* least bytes of a batch's samples in a chunk that are mixed */
#define MIXED_LEAST  (UINT64_C(12) << 20)
#define MIXED_BLOCK  2048u /* samples that a task mixes */
#define FETCH_BEFORE 16u   /* number of samples to prefetch ahead */

uint64_t bs_nufft_mixed_bytes(const struct bs_grid_shape *g)
{
	uint64_t bytes = g->chunk * g->width * 8;

	return g->width >= 4 && bytes >= MIXED_LEAST ? bytes : 0;
}

/* Copies samples from the lanes to n->mixed, or back. */
static void mix_task(void *arg, int task)
{
	const struct job *j = arg;
	const struct bs_lanes *l = j->lanes;
	const size_t width = j->n->shape.width;
	uint64_t first = (uint64_t)task * MIXED_BLOCK;
	uint64_t end = first + MIXED_BLOCK < j->samples ? first + MIXED_BLOCK : j->samples;
	float *mixed = j->n->mixed + 2 * width * first;

	for (uint64_t i = first; i < end; i++)
		for (size_t c = 0; c < width; c++, mixed += 2) {
			float *lane = l->data + 2 * (c * l->stride + i);

			if (c < l->lanes)
				memcpy(j->adjoint ? mixed : lane, j->adjoint ? lane : mixed, 8);
			else if (j->adjoint)
				memset(mixed, 0, 8);
		}
}

/* Mixes all samples of a chunk. */
static void mix(struct job *j, uint64_t chunk)
{
	const struct bs_grid_shape *g = &j->n->shape;
	uint64_t left = g->points - chunk * g->chunk;

	if (j->n->mixed == NULL)
		return;
	j->samples = left < g->chunk ? left : g->chunk;
	bs_team_do(j->n->team, mix_task, j, (int)((j->samples + MIXED_BLOCK - 1) / MIXED_BLOCK));
}

static void gather_mixed(const struct job *j, uint64_t first, uint64_t count, float *to)
{
	const uint32_t *source = j->n->table.source + first;
	const float *weight = j->n->table.weight != NULL ? j->n->table.weight + first : NULL;
	const size_t floats = 2 * j->n->shape.width;

	for (uint64_t i = 0; i < count; i++, to += floats) {
		const float *from = j->n->mixed + floats * source[i];
		float w = weight != NULL ? weight[i] : 1.0f;

		if (i + FETCH_BEFORE < count)
			__builtin_prefetch(j->n->mixed + floats * source[i + FETCH_BEFORE]);
		for (size_t k = 0; k < floats; k++)
			to[k] = w * from[k];
	}
}

/* Gathers the run's samples, weighted, [sample][width] complex. Lanes without a coil stay zero. */
static void gather_samples(const struct job *j, uint64_t first, uint64_t count, float *to)
{
	const struct bs_lanes *in = j->lanes;
	const struct bs_sample_table *t = &j->n->table;
	const uint32_t *source = t->source + first;
	const float *weight = t->weight != NULL ? t->weight + first : NULL;
	uint32_t width = j->n->shape.width;

	if (in->lanes < width)
		memset(to, 0, count * width * 2 * sizeof(float));
	for (uint32_t c = 0; c < in->lanes; c++) {
		const float *d = in->data + 2 * c * in->stride;
		float *p = to + 2 * c;

		for (uint64_t i = 0; i < count; i++, p += 2 * width) {
			float w = weight != NULL ? weight[i] : 1.0f;

			p[0] = w * d[2 * (size_t)source[i]];
			p[1] = w * d[2 * (size_t)source[i] + 1];
		}
	}
}

static void scatter_mixed(const struct job *j, uint64_t first, uint64_t count, const float *from)
{
	const uint32_t *source = j->n->table.source + first;
	const size_t floats = 2 * j->n->shape.width;

	for (uint64_t i = 0; i < count; i++, from += floats)
		memcpy(j->n->mixed + floats * source[i], from, floats * sizeof(float));
}

static void scatter(const struct job *j, uint64_t first, uint64_t count, const float *from)
{
	const uint32_t *source = j->n->table.source + first;
	const size_t floats = 2 * j->n->shape.width;

	for (uint32_t c = 0; c < j->lanes->lanes; c++) {
		float *d = j->lanes->data + 2 * c * j->lanes->stride;
		const float *p = from + 2 * (size_t)c;

		for (uint64_t i = 0; i < count; i++, p += floats)
			memcpy(d + 2 * (size_t)source[i], p, 2 * sizeof(float));
	}
}

static void run_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_sector_run *r = &j->n->table.run[j->run + (uint32_t)task];
	const bool mixed = j->n->mixed != NULL;
	float *buffer = bs_nufft_scratch(j->n, member).run;

	if (j->lanes->sorted) {
		struct bs_spread s = spread_of(j, r->first, r->count);

		s.data = j->lanes->data + (size_t)r->first * 2 * j->n->shape.width;
		j->kernel(&s);
		return;
	}
	for (uint32_t done = 0; done < r->count; done += BS_RUN) {
		uint64_t first = (uint64_t)r->first + done;
		uint64_t count = r->count - done < BS_RUN ? r->count - done : BS_RUN;
		struct bs_spread s = spread_of(j, first, count);

		s.data = buffer;
		if (j->adjoint)
			(mixed ? gather_mixed : gather_samples)(j, first, count, buffer);
		j->kernel(&s);
		if (!j->adjoint)
			(mixed ? scatter_mixed : scatter)(j, first, count, buffer);
	}
}

void bs_nufft_spread(struct bs_nufft *n, float *grid, uint64_t chunk, const struct bs_lanes *in)
{
	const uint32_t *color = n->table.color + chunk * (BS_COLORS + 1);
	struct job j = { .n = n, .grid = grid, .lanes = in, .adjoint = true };

	j.kernel = n->kernels->spread[n->shape.taps][bs_log2(2 * n->shape.width)];
	mix(&j, chunk);
	for (uint32_t c = 0; c < BS_COLORS; c++) {
		j.run = color[c];
		if (color[c + 1] > color[c])
			bs_team_run(n->team, run_task, &j, (int)(color[c + 1] - color[c]));
	}
}

void bs_nufft_interpolate(struct bs_nufft *n, float *grid, uint64_t chunk,
			  const struct bs_lanes *out)
{
	const uint32_t *color = n->table.color + chunk * (BS_COLORS + 1);
	struct job j = { .n = n, .grid = grid, .lanes = out, .run = color[0] };

	j.kernel = n->kernels->interpolate[n->shape.taps][bs_log2(2 * n->shape.width)];
	bs_team_run(n->team, run_task, &j, (int)(color[BS_COLORS] - color[0]));
	mix(&j, chunk);
}
