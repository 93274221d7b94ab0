/*
 * gpu/nufft/image.c - from the oversampled grid to the image and back; see part.h
 *
 * The transform goes axis by axis (y, x, then z for the adjoint) over blocks of as many columns as
 * a vector has lanes, and only where it matters: of the G lines in, N are wanted out. Loading a block
 * folds the halo in; storing it crops, and multiplies by the inverse of the window's transform.
 * Image index i = 0 .. N-1 is n = i - N/2, which lies in bin n mod G.
 */
#include "gpu/nufft/part.h"

#include <string.h>

struct job {
	struct bs_nufft *n;
	float *grid;
	float *image;
	size_t voxels;
	uint32_t lanes; /* of this batch that hold a coil */
	uint32_t plane; /* of the grid: 2D work split over its parts */
};

static uint32_t min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static float *block_at(const struct bs_fft_kernels *s, float *block, uint32_t index)
{
	return block + (size_t)index * 2 * s->lanes;
}

/* ---- y: columns of one plane, in place; image rows end up in rows 0 .. N-1 ---- */

static uint32_t y_blocks(const struct bs_nufft *n)
{
	uint32_t columns = n->shape.grid[0] * n->shape.width;

	return (columns + n->simd->lanes - 1) / n->simd->lanes;
}

/* Columns column .. column + count of a plane; the halos in x and y are added where they belong. */
static void fold_in(const struct bs_nufft *n, float *block, const float *plane, uint32_t column,
		    uint32_t count, bool accumulate)
{
	const struct bs_grid_shape *g = &n->shape;
	size_t row = g->row * g->width * 2;
	uint32_t halo = g->halo[0] * g->width;
	uint32_t extra = column < halo ? min32(halo - column, count) : 0;
	const float *at = plane + 2 * (size_t)column;
	const float *wrapped = at + 2 * (size_t)g->grid[0] * g->width;
	const float *below = plane + row * g->grid[1] + 2 * (size_t)column;

	n->simd->cols_in(block, at, row, g->grid[1], count, NULL, accumulate);
	n->simd->cols_in(block, below, row, g->halo[1], count, NULL, true);
	if (extra == 0)
		return;
	n->simd->cols_in(block, wrapped, row, g->grid[1], extra, NULL, true);
	n->simd->cols_in(block, below + (wrapped - at), row, g->halo[1], extra, NULL, true);
}

static void y_adjoint(const struct bs_nufft *n, float *plane, const float *wrapped, uint32_t b,
		      const struct bs_scratch *s)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	size_t row = g->row * g->width * 2;
	uint32_t column = b * v->lanes;
	uint32_t count = min32(v->lanes, g->grid[0] * g->width - column);
	uint32_t low = g->matrix[1] / 2;
	float *at = plane + 2 * (size_t)column;
	float *r;

	fold_in(n, s->a, plane, column, count, false);
	if (wrapped != NULL)
		fold_in(n, s->a, wrapped, column, count, true);
	r = v->run(&n->fft[1], s->a, s->b, true);
	v->cols_out(at, row, block_at(v, r, g->grid[1] - low), low, count, n->deapodize[1]);
	v->cols_out(at + low * row, row, r, g->matrix[1] - low, count, n->deapodize[1] + low);
}

static void y_forward(const struct bs_nufft *n, float *plane, uint32_t b,
		      const struct bs_scratch *s)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	size_t row = g->row * g->width * 2;
	uint32_t column = b * v->lanes;
	uint32_t count = min32(v->lanes, g->grid[0] * g->width - column);
	uint32_t low = g->matrix[1] / 2;
	uint32_t high = g->matrix[1] - low;
	float *at = plane + 2 * (size_t)column;
	float *r;

	v->cols_in(s->a, at + low * row, row, high, count, n->deapodize[1] + low, false);
	memset(block_at(v, s->a, high), 0,
	       (size_t)(g->grid[1] - g->matrix[1]) * v->lanes * 2 * sizeof(float));
	v->cols_in(block_at(v, s->a, g->grid[1] - low), at, row, low, count, n->deapodize[1],
		   false);
	r = v->run(&n->fft[1], s->a, s->b, false);
	v->cols_out(at, row, r, g->grid[1], count, NULL);
}

/* ---- x: rows of one plane, to or from one image row a lane ---- */

static uint32_t rows_a_block(const struct bs_nufft *n)
{
	return n->shape.width < n->simd->lanes ? n->simd->lanes / n->shape.width : 1;
}

static uint32_t x_blocks(const struct bs_nufft *n)
{
	uint32_t rows = rows_a_block(n);

	return (n->shape.matrix[1] + rows - 1) / rows;
}

/* Places of the block's lanes in the image (or the mid planes): row y of lane coil; lanes without
 * one get the line that nobody reads. */
static void places(float **to, float *base, size_t lane_stride, size_t row_stride, uint32_t y,
		   uint32_t rows, uint32_t coil, uint32_t width, uint32_t coils, uint32_t lanes,
		   float *dummy)
{
	for (uint32_t l = 0; l < lanes; l++) {
		uint32_t c = coil + l % width;
		uint32_t r = y + l / width;

		to[l] = c < coils && r < rows ? base + c * lane_stride + r * row_stride : dummy;
	}
}

/* base: where lane 0's image plane lies; lanes lie lane_stride floats apart. */
static void x_adjoint(const struct bs_nufft *n, const float *plane, float *base, size_t lane_stride,
		      uint32_t lanes, uint32_t b, const struct bs_scratch *s)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	size_t row = g->row * g->width * 2;
	uint32_t y = b * rows_a_block(n);
	uint32_t width = min32(g->width, v->lanes);
	uint32_t low = g->matrix[0] / 2;
	const float *from[BS_FFT_LANES_MAX] = { plane };
	float *to[BS_FFT_LANES_MAX];

	for (uint32_t i = 0; i < v->lanes / width; i++)
		from[i] = plane + min32(y + i, g->matrix[1] - 1) * row;
	for (uint32_t coil = 0; coil < lanes; coil += width) {
		float *r;

		if (g->width >= v->lanes)
			v->cols_in(s->a, from[0] + 2 * (size_t)coil, 2 * (size_t)g->width,
				   g->grid[0], v->lanes, NULL, false);
		else if (width == 1)
			v->lines_in(s->a, from, g->grid[0], NULL);
		else
			v->cells_in(s->a, from, width, g->grid[0], NULL);
		r = v->run(&n->fft[0], s->a, s->b, true);
		places(to, base, lane_stride, 2 * (size_t)g->matrix[0], y, g->matrix[1], coil,
		       width, lanes, v->lanes, s->dummy);
		v->lines_out(to, block_at(v, r, g->grid[0] - low), low, n->deapodize[0]);
		for (uint32_t l = 0; l < v->lanes; l++)
			to[l] += 2 * (size_t)low;
		v->lines_out(to, r, g->matrix[0] - low, n->deapodize[0] + low);
	}
}

static void x_forward(const struct bs_nufft *n, float *plane, const float *base, size_t lane_stride,
		      uint32_t lanes, uint32_t b, const struct bs_scratch *s)
{
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	size_t row = g->row * g->width * 2;
	uint32_t y = b * rows_a_block(n);
	uint32_t width = min32(g->width, v->lanes);
	uint32_t low = g->matrix[0] / 2;
	uint32_t high = g->matrix[0] - low;
	float *from[BS_FFT_LANES_MAX];
	float *to[BS_FFT_LANES_MAX] = { s->dummy };

	for (uint32_t i = 0; i < v->lanes / width; i++)
		to[i] = y + i < g->matrix[1] ? plane + (y + i) * row : s->dummy;
	for (uint32_t coil = 0; coil < g->width; coil += width) {
		float *r;

		/* the dummy line is also written here: it must read as zeros */
		memset(s->dummy, 0, 2 * (size_t)g->matrix[0] * sizeof(float));
		places(from, (float *)(uintptr_t)base, lane_stride, 2 * (size_t)g->matrix[0], y,
		       g->matrix[1], coil, width, lanes, v->lanes, s->dummy);
		v->lines_in(block_at(v, s->a, g->grid[0] - low), (const float *const *)from, low,
			    n->deapodize[0]);
		for (uint32_t l = 0; l < v->lanes; l++)
			from[l] += 2 * (size_t)low;
		v->lines_in(s->a, (const float *const *)from, high, n->deapodize[0] + low);
		memset(block_at(v, s->a, high), 0,
		       (size_t)(g->grid[0] - g->matrix[0]) * v->lanes * 2 * sizeof(float));
		r = v->run(&n->fft[0], s->a, s->b, false);
		if (g->width >= v->lanes)
			v->cols_out(to[0] + 2 * (size_t)coil, 2 * (size_t)g->width, r, g->grid[0],
				    v->lanes, NULL);
		else if (width == 1)
			v->lines_out(to, r, g->grid[0], NULL);
		else
			v->cells_out(to, width, r, g->grid[0], NULL);
	}
}

/* ---- z: columns of the mid planes, contiguous over (y, x), to or from the image ---- */

#define Z_BLOCKS 4u /* a task */

static uint32_t z_tasks(const struct bs_nufft *n)
{
	uint32_t columns = n->shape.matrix[0] * n->shape.matrix[1];
	uint32_t each = n->simd->lanes * Z_BLOCKS;

	return (columns + each - 1) / each;
}

static void z_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_nufft *n = j->n;
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	struct bs_scratch s = bs_nufft_scratch(n, member);
	uint32_t columns = g->matrix[0] * g->matrix[1];
	uint32_t lane = (uint32_t)task / z_tasks(n);
	uint32_t first = (uint32_t)task % z_tasks(n) * Z_BLOCKS * v->lanes;
	uint32_t low = g->matrix[2] / 2;
	size_t row = 2 * (size_t)columns;
	float *mid = n->mid + lane * row * g->grid[2];
	float *image = j->image + 2 * j->voxels * lane;

	for (uint32_t c = first; c < columns && c < first + Z_BLOCKS * v->lanes; c += v->lanes) {
		uint32_t count = min32(v->lanes, columns - c);
		float *at = image + 2 * (size_t)c;
		float *r;

		v->cols_in(s.a, mid + 2 * (size_t)c, row, g->grid[2], count, NULL, false);
		r = v->run(&n->fft[2], s.a, s.b, true);
		v->cols_out(at, row, block_at(v, r, g->grid[2] - low), low, count, n->deapodize[2]);
		v->cols_out(at + low * row, row, r, g->matrix[2] - low, count,
			    n->deapodize[2] + low);
	}
}

static void z_forward_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_nufft *n = j->n;
	const struct bs_grid_shape *g = &n->shape;
	const struct bs_fft_kernels *v = n->simd;
	struct bs_scratch s = bs_nufft_scratch(n, member);
	uint32_t columns = g->matrix[0] * g->matrix[1];
	uint32_t lane = (uint32_t)task / z_tasks(n);
	uint32_t first = (uint32_t)task % z_tasks(n) * Z_BLOCKS * v->lanes;
	uint32_t low = g->matrix[2] / 2;
	uint32_t high = g->matrix[2] - low;
	size_t row = 2 * (size_t)columns;
	float *mid = n->mid + lane * row * g->grid[2];
	const float *image = j->image + 2 * j->voxels * lane;

	for (uint32_t c = first; c < columns && c < first + Z_BLOCKS * v->lanes; c += v->lanes) {
		uint32_t count = min32(v->lanes, columns - c);
		const float *at = image + 2 * (size_t)c;
		float *r;

		v->cols_in(s.a, at + low * row, row, high, count, n->deapodize[2] + low, false);
		memset(block_at(v, s.a, high), 0,
		       (size_t)(g->grid[2] - g->matrix[2]) * v->lanes * 2 * sizeof(float));
		v->cols_in(block_at(v, s.a, g->grid[2] - low), at, row, low, count, n->deapodize[2],
			   false);
		r = v->run(&n->fft[2], s.a, s.b, false);
		v->cols_out(mid + 2 * (size_t)c, row, r, g->grid[2], count, NULL);
	}
}

/* ---- tasks: 3D by planes, 2D by blocks within the one plane ---- */

static float *plane_at(const struct job *j, uint32_t z)
{
	return j->grid + z * j->n->shape.plane * j->n->shape.width * 2;
}

static void y_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	struct bs_scratch s = bs_nufft_scratch(j->n, member);

	y_adjoint(j->n, j->grid, NULL, (uint32_t)task, &s);
}

static void x_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	struct bs_scratch s = bs_nufft_scratch(j->n, member);

	x_adjoint(j->n, j->grid, j->image, 2 * j->voxels, j->lanes, (uint32_t)task, &s);
}

static void plane_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_grid_shape *g = &j->n->shape;
	struct bs_scratch s = bs_nufft_scratch(j->n, member);
	uint32_t z = (uint32_t)task;
	float *plane = plane_at(j, z);
	const float *wrapped = z < g->halo[2] ? plane_at(j, z + g->grid[2]) : NULL;
	size_t pixels = 2 * (size_t)g->matrix[0] * g->matrix[1];

	for (uint32_t b = 0; b < y_blocks(j->n); b++)
		y_adjoint(j->n, plane, wrapped, b, &s);
	for (uint32_t b = 0; b < x_blocks(j->n); b++)
		x_adjoint(j->n, plane, j->n->mid + z * pixels, pixels * g->grid[2], j->lanes, b,
			  &s);
}

void bs_nufft_to_image(struct bs_nufft *n, float *grid, float *image, uint32_t lanes)
{
	const struct bs_grid_shape *g = &n->shape;
	struct job j = { .n = n, .grid = grid, .image = image, .lanes = lanes };

	j.voxels = (size_t)g->matrix[0] * g->matrix[1] * g->matrix[2];
	if (g->dims == 3) {
		bs_team_run(n->team, plane_task, &j, (int)g->grid[2]);
		bs_team_run(n->team, z_task, &j, (int)(z_tasks(n) * lanes));
		return;
	}
	if (g->dims == 1) /* no y transform that would fold x */
		for (uint32_t i = 0; i < g->halo[0] * g->width * 2; i++)
			grid[i] += grid[(size_t)g->grid[0] * g->width * 2 + i];
	else
		bs_team_run(n->team, y_task, &j, (int)y_blocks(n));
	bs_team_run(n->team, x_task, &j, (int)x_blocks(n));
}

static void y_forward_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	struct bs_scratch s = bs_nufft_scratch(j->n, member);

	y_forward(j->n, j->grid, (uint32_t)task, &s);
}

static void x_forward_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	struct bs_scratch s = bs_nufft_scratch(j->n, member);

	x_forward(j->n, j->grid, j->image, 2 * j->voxels, j->lanes, (uint32_t)task, &s);
}

/* Row y of a plane gets its halo, and its copy below the plane when it has one. */
static void wrap_row(const struct bs_nufft *n, float *plane, uint32_t y)
{
	const struct bs_grid_shape *g = &n->shape;
	size_t cell = 2 * (size_t)g->width;
	float *row = plane + y * g->row * cell;

	memcpy(row + g->grid[0] * cell, row, g->halo[0] * cell * sizeof(float));
	if (y < g->halo[1])
		memcpy(row + g->grid[1] * g->row * cell, row,
		       (g->grid[0] + g->halo[0]) * cell * sizeof(float));
}

#define WRAP_ROWS 16u

static void wrap_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	uint32_t first = (uint32_t)task * WRAP_ROWS;

	(void)member;
	for (uint32_t y = first; y < first + WRAP_ROWS && y < j->n->shape.grid[1]; y++)
		wrap_row(j->n, j->grid, y);
}

static void plane_forward_task(void *arg, int task, int member)
{
	const struct job *j = arg;
	const struct bs_grid_shape *g = &j->n->shape;
	struct bs_scratch s = bs_nufft_scratch(j->n, member);
	uint32_t z = (uint32_t)task;
	float *plane = plane_at(j, z);
	size_t pixels = 2 * (size_t)g->matrix[0] * g->matrix[1];

	for (uint32_t b = 0; b < x_blocks(j->n); b++)
		x_forward(j->n, plane, j->n->mid + z * pixels, pixels * g->grid[2], j->lanes, b,
			  &s);
	for (uint32_t b = 0; b < y_blocks(j->n); b++)
		y_forward(j->n, plane, b, &s);
	for (uint32_t y = 0; y < g->grid[1]; y++)
		wrap_row(j->n, plane, y);
	if (z < g->halo[2])
		memcpy(plane_at(j, z + g->grid[2]), plane, g->plane * g->width * 2 * sizeof(float));
}

void bs_nufft_from_image(struct bs_nufft *n, float *grid, const float *image, uint32_t lanes)
{
	const struct bs_grid_shape *g = &n->shape;
	struct job j = { .n = n, .grid = grid, .image = (float *)(uintptr_t)image, .lanes = lanes };

	j.voxels = (size_t)g->matrix[0] * g->matrix[1] * g->matrix[2];
	if (g->dims == 3) {
		bs_team_run(n->team, z_forward_task, &j, (int)(z_tasks(n) * lanes));
		bs_team_run(n->team, plane_forward_task, &j, (int)g->grid[2]);
		return;
	}
	bs_team_run(n->team, x_forward_task, &j, (int)x_blocks(n));
	if (g->dims == 2)
		bs_team_run(n->team, y_forward_task, &j, (int)y_blocks(n));
	bs_team_run(n->team, wrap_task, &j, (int)((g->grid[1] + WRAP_ROWS - 1) / WRAP_ROWS));
}
