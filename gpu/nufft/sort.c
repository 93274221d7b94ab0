/* gpu/nufft/sort.c - samples into sectors, at plan; see part.h */
#include "gpu/nufft/part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The place of a sample on one axis: the window's first cell, and how far it is past the lower end.
 */
struct spot {
	uint32_t cell;
	float t; /* place in the cell, t = 2f - 1 (grid_simd.h) */
};

static struct spot spot_of(float k, uint32_t grid, double width)
{
	double u = (double)k * grid;
	double first = ceil(u - width / 2.0);
	double f = first - (u - width / 2.0);
	int64_t cell = (int64_t)first;

	while (cell < 0)
		cell += grid;
	while (cell >= grid) /* first lies at most a window's width outside of the grid */
		cell -= grid;
	return (struct spot){ (uint32_t)cell, (float)(2.0 * f - 1.0) };
}

static uint32_t sector_of(const struct bs_grid_shape *g, uint32_t a, uint32_t cell)
{
	uint32_t s = cell / g->edge[a];

	/* the last sector takes the cells that are left over */
	return s < g->sectors[a] ? s : g->sectors[a] - 1;
}

static uint32_t color_of(const struct bs_grid_shape *g, uint32_t sector)
{
	uint32_t x = sector % g->sectors[0];
	uint32_t y = sector / g->sectors[0] % g->sectors[1];
	uint32_t z = sector / g->sectors[0] / g->sectors[1];

	return (x & 1) | (y & 1) << 1 | (z & 1) << 2;
}

/* Lets the key at the root of a heap of n sink to its place. */
static void sink(uint64_t *key, size_t root, size_t n)
{
	const uint64_t moved = key[root];

	for (size_t child; (child = 2 * root + 1) < n; root = child) {
		if (child + 1 < n && key[child + 1] > key[child])
			child++;
		if (key[child] <= moved)
			break;
		key[root] = key[child];
	}
	key[root] = moved;
}

/* Sorts by a heap, in place: the C library's qsort may allocate. */
static void order(uint64_t *key, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sink(key, i, n);
	for (size_t end = n; end-- > 1;) {
		const uint64_t largest = key[0];

		key[0] = key[end];
		key[end] = largest;
		sink(key, 0, end);
	}
}

#define SPELL 4096u /* samples ordered by cell at a time */

struct sorter {
	struct bs_nufft *n;
	const float *k;
	const float *weight;
	const uint32_t *index;
	uint32_t stride;
	uint32_t sectors;
	uint32_t *sector;     /* [point of the chunk] its sector */
	uint32_t *first;      /* [sector + 1] first point of each sector */
	uint64_t *key;        /* sort keys of the points */
	uint64_t runs;        /* number of runs so far */
	uint64_t base, count; /* points of the current chunk: first, number */
};

static const float *k_of(const struct sorter *s, uint64_t point)
{
	return s->k + (s->index != NULL ? s->index[point] : point) * s->stride;
}

static uint32_t cell_of(const struct bs_grid_shape *g, const float *k)
{
	uint64_t cell = 0;

	for (uint32_t a = 0; a < g->dims; a++)
		cell += spot_of(k[a], g->grid[a], g->window).cell * (a == 0   ? 1
								     : a == 1 ? g->row
									      : g->plane);
	return (uint32_t)cell;
}

/*
 * Orders samples that are neighbors in time and lie in one sector by cell. Spreading then moves
 * through the first-level cache slowly, and samples with the same cells are added as one group.
 */
static void order_runs(struct sorter *s)
{
	uint32_t *source = s->n->table.source + s->base;
	uint32_t from = 0;

	for (uint32_t id = 0; id < s->sectors; from = s->first[id++])
		for (uint32_t at = from; at < s->first[id];) {
			uint32_t left = s->first[id] - at;
			uint32_t n = left < SPELL ? left : SPELL;

			for (uint32_t i = 0; i < n; i++)
				s->key[i] = (uint64_t)cell_of(&s->n->shape,
							      k_of(s, s->base + source[at + i]))
						    << 32 |
					    source[at + i];
			order(s->key, n);
			for (uint32_t i = 0; i < n; i++)
				source[at + i] = (uint32_t)s->key[i];
			at += n;
		}
}

/* The range of points that a task takes. Returns their number. */
static uint64_t span(const struct sorter *s, int task, uint64_t *from)
{
	*from = (uint64_t)task * SPELL;
	return s->count - *from < SPELL ? s->count : *from + SPELL;
}

static void sector_task(void *arg, int task)
{
	const struct sorter *s = arg;
	const struct bs_grid_shape *g = &s->n->shape;
	uint64_t i;
	const uint64_t end = span(s, task, &i);

	for (; i < end; i++) {
		const float *k = k_of(s, s->base + i);
		uint32_t id = 0;

		for (uint32_t a = g->dims; a-- > 0;)
			id = id * g->sectors[a] +
			     sector_of(g, a, spot_of(k[a], g->grid[a], g->window).cell);
		s->sector[i] = id;
	}
}

/* Fills the table's values, in the order that its source has by now. */
static void fill_task(void *arg, int task)
{
	const struct sorter *s = arg;
	const struct bs_grid_shape *g = &s->n->shape;
	const struct bs_sample_table *t = &s->n->table;
	uint64_t i;
	const uint64_t end = span(s, task, &i);

	for (; i < end; i++) {
		const uint64_t at = s->base + i;
		const float *k = k_of(s, s->base + t->source[at]);

		t->cell[at] = cell_of(g, k);
		for (uint32_t a = 0; a < g->dims; a++)
			t->t[a][at] = spot_of(k[a], g->grid[a], g->window).t;
		if (t->weight != NULL)
			t->weight[at] = s->weight[s->base + t->source[at]];
	}
}

/* Puts the largest runs first: the last run of a color to start should be a short one. */
static void order_sectors(struct sorter *s, struct bs_sector_run *run, uint64_t runs)
{
	for (uint64_t i = 0; i < runs; i++)
		s->key[i] = (uint64_t)~run[i].count << 32 | run[i].first;
	order(s->key, runs);
	for (uint64_t i = 0; i < runs; i++)
		run[i] =
			(struct bs_sector_run){ (uint32_t)s->key[i], ~(uint32_t)(s->key[i] >> 32) };
}

static void sort_chunk(struct sorter *s, uint64_t chunk)
{
	const struct bs_grid_shape *g = &s->n->shape;
	struct bs_sample_table *t = &s->n->table;
	const uint64_t base = chunk * g->chunk;
	const uint64_t count = g->points - base < g->chunk ? g->points - base : g->chunk;
	const int tasks = (int)((count + SPELL - 1) / SPELL);
	uint32_t *color = t->color + chunk * (BS_COLORS + 1);

	s->base = base;
	s->count = count;
	bs_team_do(s->n->team, sector_task, s, tasks);
	memset(s->first, 0, (s->sectors + 1) * sizeof(uint32_t));
	for (uint64_t i = 0; i < count; i++)
		s->first[s->sector[i] + 1]++;
	for (uint32_t i = 0; i < s->sectors; i++)
		s->first[i + 1] += s->first[i];
	for (uint32_t c = 0; c < BS_COLORS; c++) {
		color[c] = (uint32_t)s->runs;
		for (uint32_t i = 0; i < s->sectors; i++)
			if (color_of(g, i) == c && s->first[i + 1] > s->first[i])
				t->run[s->runs++] =
					(struct bs_sector_run){ (uint32_t)base + s->first[i],
								s->first[i + 1] - s->first[i] };
		order_sectors(s, t->run + color[c], s->runs - color[c]);
	}
	color[BS_COLORS] = (uint32_t)s->runs;
	for (uint64_t i = 0; i < count; i++)
		t->source[base + s->first[s->sector[i]]++] = (uint32_t)i;
	/* with wider cells, ordering the samples gains less than gathering them loses */
	if (g->width <= 2)
		order_runs(s); /* first[] now holds the end of each sector */
	bs_team_do(s->n->team, fill_task, s, tasks);
}

/* Finds the bytes of three arrays: the sector of each point, the first point of
 * each sector, the keys. */
static void rooms(uint64_t bytes[3], const struct bs_grid_shape *g)
{
	const uint64_t sectors = (uint64_t)g->sectors[0] * g->sectors[1] * g->sectors[2];

	bytes[0] = (g->chunk * 4 + 7) / 8 * 8;
	bytes[1] = ((sectors + 1) * 4 + 7) / 8 * 8;
	bytes[2] = (sectors > SPELL ? sectors : SPELL) * 8;
}

uint64_t bs_nufft_sort_bytes(const struct bs_grid_shape *g)
{
	uint64_t bytes[3];

	rooms(bytes, g);
	return bytes[0] + bytes[1] + bytes[2];
}

int bs_nufft_sort(struct bs_nufft *n, const float *k, uint32_t stride, const uint32_t *index,
		  const float *weight, struct bs_fail *why)
{
	const struct bs_grid_shape *g = &n->shape;
	struct sorter s = { .n = n, .k = k, .weight = weight, .index = index, .stride = stride };
	unsigned char *own = n->sort_room != NULL ? NULL : malloc(bs_nufft_sort_bytes(g));
	unsigned char *room = n->sort_room != NULL ? n->sort_room : own;
	uint64_t bytes[3];

	if (room == NULL)
		return bs_fail(why, BS_ERR_NOMEM, "sorting %llu samples",
			       (unsigned long long)g->points);
	rooms(bytes, g);
	s.sectors = g->sectors[0] * g->sectors[1] * g->sectors[2];
	s.sector = (uint32_t *)(void *)room;
	s.first = (uint32_t *)(void *)(room + bytes[0]);
	s.key = (uint64_t *)(void *)(room + bytes[0] + bytes[1]);
	for (uint64_t c = 0; c < g->chunks; c++)
		sort_chunk(&s, c);
	free(own);
	return 0;
}
