/* gpu/nufft/shape.c - the sizes that follow from a NUFFT's specification alone; see part.h */
#include "gpu/nufft/part.h"

#include <math.h>
#include <string.h>

/*
 * Cells of a sector's edge. A sector's footprint should stay in the second-level cache, and its
 * rows in use in the first. The halo that neighbors share grows as the edge shrinks. Where samples
 * are sparse the halo is what costs, so sectors are larger.
 */
static const uint32_t edges[2][4][3][3] = {
	{ /* least voxels for [log2 of width][dims 1, 2, 3] */
	  { { 256, 1, 1 }, { 32, 32, 1 }, { 16, 16, 8 } },
	  { { 256, 1, 1 }, { 32, 16, 1 }, { 16, 8, 8 } },
	  { { 128, 1, 1 }, { 16, 16, 1 }, { 16, 8, 8 } },
	  { { 128, 1, 1 }, { 16, 16, 1 }, { 16, 8, 8 } } },
	{ { { 256, 1, 1 }, { 32, 32, 1 }, { 32, 32, 16 } },
	  { { 256, 1, 1 }, { 32, 16, 1 }, { 32, 16, 16 } },
	  { { 128, 1, 1 }, { 16, 16, 1 }, { 16, 16, 16 } },
	  { { 128, 1, 1 }, { 16, 16, 1 }, { 16, 16, 16 } } },
};

static int sizes(struct bs_grid_shape *g, const struct bs_nufft_spec *s, uint64_t points,
		 struct bs_fail *why)
{
	uint64_t x;
	uint64_t sectors = 1;
	/*
	 * Whether samples are sparse follows from the specification alone: need and plan must take
	 * a stack to have as many positions.
	 */
	bool sparse = (double)s->samples < 0.5 * g->grid[0] * g->grid[1] * (double)g->grid[2];

	for (uint32_t a = 0; a < 3; a++) {
		/*
		 * Footprints of one color must not touch, nor may a vector that reaches past a
		 * row's end.
		 */
		uint32_t least = g->taps + (a == 0 ? 8 : 0);
		uint32_t edge = edges[sparse][bs_log2(g->width)][g->dims - 1][a];

		g->halo[a] = a < g->dims ? g->taps - 1 : 0;
		edge = (edge > least ? edge : least) + (a == 0 ? 7 : 0);
		g->edge[a] = a == 0 ? edge / 8 * 8 : edge;
		g->sectors[a] = g->grid[a] >= g->edge[a] ? g->grid[a] / g->edge[a] : 1;
		sectors *= g->sectors[a];
	}
	g->row = (g->grid[0] + g->halo[0] + 16 + 7) / 8 * 8;
	if (__builtin_mul_overflow(g->row, (uint64_t)g->grid[1] + g->halo[1], &g->plane) ||
	    __builtin_mul_overflow(g->plane, (uint64_t)g->grid[2] + g->halo[2], &g->cells) ||
	    __builtin_add_overflow(g->cells, 16, &g->cells) || g->cells > UINT32_MAX ||
	    __builtin_mul_overflow(g->cells, 8ull * g->width * g->batches, &x) || x > SIZE_MAX / 8)
		return bs_fail(why, BS_ERR_SIZE,
			       "oversampled grid of %u x %u x %u for %u coils is too large",
			       g->grid[0], g->grid[1], g->grid[2], s->coils);
	g->points = points;
	g->chunk = s->chunk == 0 || s->chunk > points ? points : s->chunk;
	g->chunks = (points + g->chunk - 1) / g->chunk;
	g->runs = g->chunks * (g->chunk < sectors ? g->chunk : sectors);
	if (g->runs > points)
		g->runs = points;
	g->mid = g->dims == 3 ? 2ull * g->width * g->grid[2] * g->matrix[1] * g->matrix[0] : 0;
	return 0;
}

static int check_spec(const struct bs_nufft_spec *s, struct bs_fail *why)
{
	uint64_t voxels = 1;
	uint64_t x;

	if (s->dims < 1 || s->dims > 3)
		return bs_fail(why, BS_ERR_CONFIG, "NUFFT of %u dimensions: 1 to 3", s->dims);
	for (uint32_t a = 0; a < 3; a++) {
		if (s->matrix[a] == 0 || s->matrix[a] > 65536 ||
		    (a >= s->dims && s->matrix[a] != 1))
			return bs_fail(why, BS_ERR_SIZE,
				       "matrix[%u] = %u in a NUFFT of %u dimensions", a,
				       s->matrix[a], s->dims);
		voxels *= s->matrix[a]; /* the product stays below 2^48 voxels */
	}
	if (s->coils == 0 || s->coils > 65536)
		return bs_fail(why, BS_ERR_SIZE, "NUFFT of %u coils", s->coils);
	if (s->samples == 0 || s->samples >= UINT32_MAX)
		return bs_fail(why, BS_ERR_SIZE, "NUFFT of %llu samples: 1 to 2^32 - 2",
			       (unsigned long long)s->samples);
	if (__builtin_mul_overflow(s->samples * 8, (uint64_t)s->coils * (s->states + 1ull), &x) ||
	    __builtin_mul_overflow(voxels, 8ull * s->coils, &x) || x > SIZE_MAX / 8)
		return bs_fail(why, BS_ERR_SIZE,
			       "%llu samples, %u coils, %u states do not fit memory",
			       (unsigned long long)s->samples, s->coils, s->states);
	if (s->window != BS_WINDOW_KAISER_BESSEL && s->window != BS_WINDOW_GAUSS)
		return bs_fail(why, BS_ERR_CONFIG, "unknown gridding window %d", (int)s->window);
	return 0;
}

static void widths(struct bs_grid_shape *g, uint32_t channels)
{
	uint32_t each;

	g->batches = (channels + 7) / 8;
	each = (channels + g->batches - 1) / g->batches;
	g->width = each > 4 ? 8 : each > 2 ? 4 : each;
}

int bs_nufft_shape(struct bs_grid_shape *g, const struct bs_nufft_spec *s, struct bs_fail *why)
{
	int rc = check_spec(s, why);

	if (rc != 0)
		return rc;
	memset(g, 0, sizeof(*g));
	g->dims = s->dims;
	memcpy(g->matrix, s->matrix, sizeof(g->matrix));
	rc = bs_window_choose(s, s->dims, &g->window, g->grid, why);
	if (rc != 0)
		return rc;
	g->taps = (uint32_t)ceil(g->window);
	widths(g, s->coils);
	return sizes(g, s, s->samples, why);
}

int bs_nufft_shape_stack(struct bs_grid_shape *g, const struct bs_nufft_spec *s, uint64_t positions,
			 struct bs_fail *why)
{
	struct bs_nufft_spec flat = *s;
	int rc = check_spec(s, why);

	if (rc != 0)
		return rc;
	memset(g, 0, sizeof(*g));
	g->dims = flat.dims = 2;
	flat.matrix[2] = 1;
	/* most samples of a plane, by the specification alone */
	flat.samples = s->samples / s->matrix[2] + 1;
	flat.chunk = 0;
	flat.coils = s->matrix[2];
	memcpy(g->matrix, flat.matrix, sizeof(g->matrix));
	rc = bs_window_choose(&flat, 2, &g->window, g->grid, why);
	if (rc != 0)
		return rc;
	g->taps = (uint32_t)ceil(g->window);
	widths(g, flat.coils);
	return sizes(g, &flat, positions, why);
}

double bs_nufft_accuracy(const struct bs_nufft_spec *s)
{
	struct bs_grid_shape g;
	struct bs_fail why;

	if (s->accuracy == 0.0 || bs_nufft_shape(&g, s, &why) != 0)
		return 0.0;
	return bs_window_reach(s, s->dims, g.window, g.grid, BS_WINDOW_HOST);
}
