/* gpu/nufft_sort.c - samples into sectors, at plan; see nufft_part.h */
#include "gpu/nufft_part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where a sample lies on one axis: the window's first cell, and how far past its lower end. */
struct spot {
	uint32_t cell;
	float t; /* 2f - 1 */
};

static struct spot spot_of(float k, uint32_t grid, double width)
{
	double u = (double)k * grid;
	double first = ceil(u - width / 2.0);
	double f = first - (u - width / 2.0);
	int64_t cell = (int64_t)first % (int64_t)grid;

	return (struct spot){ (uint32_t)(cell < 0 ? cell + grid : cell), (float)(2.0 * f - 1.0) };
}

static uint32_t sector_of(const struct bs_grid_shape *g, uint32_t a, uint32_t cell)
{
	uint32_t s = cell / g->edge[a];

	return s < g->sectors[a] ? s : g->sectors[a] - 1; /* the last one takes what is left over */
}

static uint32_t color_of(const struct bs_grid_shape *g, uint32_t sector)
{
	uint32_t x = sector % g->sectors[0];
	uint32_t y = sector / g->sectors[0] % g->sectors[1];
	uint32_t z = sector / g->sectors[0] / g->sectors[1];

	return (x & 1) | (y & 1) << 1 | (z & 1) << 2;
}

/* Largest first: the last run of a color to start should be a short one. */
static int by_count(const void *a, const void *b)
{
	const struct bs_sector_run *p = a;
	const struct bs_sector_run *q = b;

	if (p->count != q->count)
		return p->count < q->count ? 1 : -1;
	return p->first < q->first ? -1 : 1;
}

struct sorter {
	struct bs_nufft *n;
	const float *k;
	const float *weight;
	const uint32_t *index;
	uint32_t stride;
	uint32_t sectors;
	uint32_t *sector; /* of each point of the chunk */
	uint32_t *first;  /* of each sector, and one more */
	uint64_t runs;    /* so far */
};

static const float *k_of(const struct sorter *s, uint64_t point)
{
	return s->k + (s->index != NULL ? s->index[point] : point) * s->stride;
}

static void sort_chunk(struct sorter *s, uint64_t chunk)
{
	const struct bs_grid_shape *g = &s->n->shape;
	struct bs_sample_table *t = &s->n->table;
	uint64_t base = chunk * g->chunk;
	uint64_t count = g->points - base < g->chunk ? g->points - base : g->chunk;
	uint32_t *color = t->color + chunk * (BS_COLORS + 1);

	memset(s->first, 0, (s->sectors + 1) * sizeof(uint32_t));
	for (uint64_t i = 0; i < count; i++) {
		const float *k = k_of(s, base + i);
		uint32_t id = 0;

		for (uint32_t a = g->dims; a-- > 0;)
			id = id * g->sectors[a] +
			     sector_of(g, a, spot_of(k[a], g->grid[a], g->window).cell);
		s->sector[i] = id;
		s->first[id + 1]++;
	}
	for (uint32_t i = 0; i < s->sectors; i++)
		s->first[i + 1] += s->first[i];
	for (uint32_t c = 0; c < BS_COLORS; c++) {
		color[c] = (uint32_t)s->runs;
		for (uint32_t i = 0; i < s->sectors; i++)
			if (color_of(g, i) == c && s->first[i + 1] > s->first[i])
				t->run[s->runs++] = (struct bs_sector_run){
					(uint32_t)base + s->first[i], s->first[i + 1] - s->first[i]
				};
		qsort(t->run + color[c], s->runs - color[c], sizeof(*t->run), by_count);
	}
	color[BS_COLORS] = (uint32_t)s->runs;
	for (uint64_t i = 0; i < count; i++) {
		const float *k = k_of(s, base + i);
		uint64_t at = base + s->first[s->sector[i]]++;
		uint64_t cell = 0;

		for (uint32_t a = 0; a < g->dims; a++) {
			struct spot p = spot_of(k[a], g->grid[a], g->window);

			cell += p.cell * (a == 0 ? 1 : a == 1 ? g->row : g->plane);
			t->t[a][at] = p.t;
		}
		t->cell[at] = (uint32_t)cell;
		t->source[at] = (uint32_t)i;
		if (t->weight != NULL)
			t->weight[at] = s->weight[base + i];
	}
}

int bs_nufft_sort(struct bs_nufft *n, const float *k, uint32_t stride, const uint32_t *index,
		  const float *weight, struct bs_fail *why)
{
	const struct bs_grid_shape *g = &n->shape;
	struct sorter s = { n, k, weight, index, stride, 0, NULL, NULL, 0 };
	int rc = 0;

	s.sectors = g->sectors[0] * g->sectors[1] * g->sectors[2];
	s.sector = malloc(g->chunk * sizeof(uint32_t));
	s.first = malloc((s.sectors + 1) * sizeof(uint32_t));
	if (s.sector == NULL || s.first == NULL)
		rc = bs_fail(why, BS_ERR_NOMEM, "sorting %llu samples", (unsigned long long)g->points);
	for (uint64_t c = 0; rc == 0 && c < g->chunks; c++)
		sort_chunk(&s, c);
	free(s.sector);
	free(s.first);
	return rc;
}
