/* gpu/nufft/grid.c - sorted samples onto the grid and off it, over the team; see part.h */
#include "gpu/nufft/part.h"

#include <string.h>

struct job {
	struct bs_nufft *n;
	float *grid;
	uint64_t cells;   /* to be cleared */
	uint64_t samples; /* to be mixed */
	const struct bs_lanes *lanes;
	uint32_t run;   /* the first of this color */
	uint64_t chunk; /* its first sample */
	bs_spread_fn kernel;
};

#define ZERO_CELLS 16384u

static void zero_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	uint64_t first = (uint64_t)task * ZERO_CELLS;
	uint64_t count = j->cells - first < ZERO_CELLS ? j->cells - first : ZERO_CELLS;

	(void)member;
	memset(j->grid + first * 2 * j->n->shape.width, 0, count * 8 * j->n->shape.width);
}

void bs_nufft_zero(struct bs_nufft *n, float *grid, uint64_t cells)
{
	struct job j = { .n = n, .grid = grid, .cells = cells };

	bs_team_run(n->team, zero_task, &j, (int)((cells + ZERO_CELLS - 1) / ZERO_CELLS));
}

struct copy {
	float *to;
	const float *from;
	uint64_t floats;
};

static void copy_task(void *arg, int task, int member)
{
	const struct copy *j = arg;
	uint64_t first = (uint64_t)task * ZERO_CELLS;
	uint64_t count = j->floats - first < ZERO_CELLS ? j->floats - first : ZERO_CELLS;

	(void)member;
	memcpy(j->to + first, j->from + first, count * sizeof(float));
}

void bs_nufft_copy(struct bs_nufft *n, float *grid, const float *from, uint64_t cells)
{
	struct copy j = { grid, from, cells * 2 * n->shape.width };

	bs_team_run(n->team, copy_task, &j, (int)((j.floats + ZERO_CELLS - 1) / ZERO_CELLS));
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
 * Samples in sector order lie anywhere in each coil's data. Where those outgrow the caches, they are
 * first brought side by side, [sample][width], in one pass in memory's order: then one line of
 * memory holds a sample of every coil, and not of one alone.
 */
#define MIXED_LEAST  (UINT64_C(12) << 20) /* bytes */
#define MIXED_BLOCK  2048u                /* samples of a task */
#define FETCH_BEFORE 16u                  /* samples */

uint64_t bs_nufft_mixed_bytes(const struct bs_grid_shape *g)
{
	uint64_t bytes = g->chunk * g->width * 8;

	return g->width >= 4 && bytes >= MIXED_LEAST ? bytes : 0;
}

static void mix_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_lanes *in = j->lanes;
	const size_t width = j->n->shape.width;
	uint64_t first = (uint64_t)task * MIXED_BLOCK;
	uint64_t end = first + MIXED_BLOCK < j->samples ? first + MIXED_BLOCK : j->samples;
	float *to = j->n->mixed + 2 * width * first;

	(void)member;
	for (uint64_t i = first; i < end; i++)
		for (size_t c = 0; c < width; c++, to += 2)
			if (c < in->lanes)
				memcpy(to, in->data + 2 * (c * in->stride + i), 8);
			else
				memset(to, 0, 8);
}

static void unmix_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_lanes *out = j->lanes;
	const size_t width = j->n->shape.width;
	uint64_t first = (uint64_t)task * MIXED_BLOCK;
	uint64_t end = first + MIXED_BLOCK < j->samples ? first + MIXED_BLOCK : j->samples;
	const float *from = j->n->mixed + 2 * width * first;

	(void)member;
	for (uint64_t i = first; i < end; i++, from += 2 * width)
		for (size_t c = 0; c < out->lanes; c++)
			memcpy(out->data + 2 * (c * out->stride + i), from + 2 * c, 8);
}

/* All samples of a chunk, from its lanes to n->mixed or back. */
static void mix(struct bs_nufft *n, uint64_t chunk, const struct bs_lanes *lanes,
		void (*task)(void *arg, int task, int member))
{
	uint64_t left = n->shape.points - chunk * n->shape.chunk;
	struct job j = { .n = n, .lanes = lanes };

	j.samples = left < n->shape.chunk ? left : n->shape.chunk;
	bs_team_run(n->team, task, &j, (int)((j.samples + MIXED_BLOCK - 1) / MIXED_BLOCK));
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

/* The run's samples, weighted, [sample][width] complex. Lanes without a coil stay zero. */
static void gather(const struct job *j, uint64_t first, uint64_t count, float *to)
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

static void spread_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_sector_run *r = &j->n->table.run[j->run + (uint32_t)task];
	uint32_t floats = 2 * j->n->shape.width;
	float *buffer = bs_nufft_scratch(j->n, member).run;

	if (j->lanes->sorted) {
		struct bs_spread s = spread_of(j, r->first, r->count);

		s.data = j->lanes->data + (size_t)r->first * floats;
		j->kernel(&s);
		return;
	}
	for (uint32_t done = 0; done < r->count; done += BS_RUN) {
		uint64_t first = (uint64_t)r->first + done;
		uint64_t count = r->count - done < BS_RUN ? r->count - done : BS_RUN;
		struct bs_spread s = spread_of(j, first, count);

		if (j->n->mixed != NULL)
			gather_mixed(j, first, count, buffer);
		else
			gather(j, first, count, buffer);
		s.data = buffer;
		j->kernel(&s);
	}
}

static uint32_t log2_of(uint32_t n)
{
	return n <= 1 ? 0 : 1 + log2_of(n / 2);
}

void bs_nufft_spread(struct bs_nufft *n, float *grid, uint64_t chunk, const struct bs_lanes *in)
{
	const uint32_t *color = n->table.color + chunk * (BS_COLORS + 1);
	struct job j = { .n = n, .grid = grid, .lanes = in };

	j.kernel = n->kernels->spread[n->shape.taps][log2_of(2 * n->shape.width)];
	if (n->mixed != NULL)
		mix(n, chunk, in, mix_task);
	for (uint32_t c = 0; c < BS_COLORS; c++) {
		j.run = color[c];
		if (color[c + 1] > color[c])
			bs_team_run(n->team, spread_task, &j, (int)(color[c + 1] - color[c]));
	}
}

static void scatter_mixed(const struct job *j, uint64_t first, uint64_t count, const float *from)
{
	const uint32_t *source = j->n->table.source + first;
	const size_t floats = 2 * j->n->shape.width;

	for (uint64_t i = 0; i < count; i++, from += floats)
		memcpy(j->n->mixed + floats * source[i], from, floats * sizeof(float));
}

static void interpolate_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_sector_run *r = &j->n->table.run[j->run + (uint32_t)task];
	const struct bs_lanes *out = j->lanes;
	const uint32_t width = j->n->shape.width;
	float *buffer = bs_nufft_scratch(j->n, member).run;

	if (out->sorted) {
		struct bs_spread s = spread_of(j, r->first, r->count);

		s.data = out->data + (size_t)r->first * width * 2;
		j->kernel(&s);
		return;
	}
	for (uint32_t done = 0; done < r->count; done += BS_RUN) {
		uint64_t first = (uint64_t)r->first + done;
		uint64_t count = r->count - done < BS_RUN ? r->count - done : BS_RUN;
		struct bs_spread s = spread_of(j, first, count);

		s.data = buffer;
		j->kernel(&s);
		if (j->n->mixed != NULL) {
			scatter_mixed(j, first, count, buffer);
			continue;
		}
		for (uint32_t c = 0; c < out->lanes; c++) {
			const uint32_t *source = j->n->table.source + first;
			float *d = out->data + 2 * c * out->stride;
			const float *p = buffer + 2 * c;

			for (uint64_t i = 0; i < count; i++, p += 2 * width)
				memcpy(d + 2 * (size_t)source[i], p, 2 * sizeof(float));
		}
	}
}

void bs_nufft_interpolate(struct bs_nufft *n, float *grid, uint64_t chunk,
			  const struct bs_lanes *out)
{
	const uint32_t *color = n->table.color + chunk * (BS_COLORS + 1);
	struct job j = { .n = n, .grid = grid, .lanes = out, .run = color[0] };

	j.kernel = n->kernels->interpolate[n->shape.taps][log2_of(2 * n->shape.width)];
	bs_team_run(n->team, interpolate_task, &j, (int)(color[BS_COLORS] - color[0]));
	if (n->mixed != NULL)
		mix(n, chunk, out, unmix_task);
}
